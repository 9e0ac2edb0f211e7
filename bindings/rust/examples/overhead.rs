//! Nanoseconds of a call of the crate, and of the library's own, on one text: overhead MODEL.

use std::ffi::c_void;
use std::time::Instant;
use streamtok::Tokenizer;

extern "C" {
    fn stk_model_open(path: *const i8, model: *mut *mut c_void) -> i32;
    fn stk_coder_new(model: *mut c_void, options: *const c_void, coder: *mut *mut c_void) -> i32;
    fn stk_encode(
        coder: *mut c_void,
        text: *const u8,
        n: usize,
        ids: *mut u32,
        room: usize,
        count: *mut usize,
        fault: *mut c_void,
    ) -> i32;
}

const CALLS: u32 = 2_000;
const ROUNDS: usize = 400;

fn nanoseconds(call: &mut dyn FnMut()) -> f64 {
    let begun = Instant::now();
    (0..CALLS).for_each(|_| call());
    begun.elapsed().as_nanos() as f64 / CALLS as f64
}

/// The best of many rounds of both, in turns: other programs disturb some of them.
fn best(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    (0..ROUNDS).fold((f64::MAX, f64::MAX), |(a, b), _| {
        (a.min(nanoseconds(&mut one)), b.min(nanoseconds(&mut other)))
    })
}

fn main() {
    let path = std::env::args().nth(1).expect("a compiled model");
    let tokenizer = Tokenizer::from_file(&path).expect("it opens");
    let name = std::ffi::CString::new(path).unwrap();
    let (mut model, mut coder) = (std::ptr::null_mut(), std::ptr::null_mut());
    unsafe {
        assert_eq!(stk_model_open(name.as_ptr().cast(), &mut model), 0);
        assert_eq!(stk_coder_new(model, std::ptr::null(), &mut coder), 0);
    }
    for text in ["hi", "The quick brown fox jumps over the lazy dog, and again."] {
        let (mut ids, mut room, mut count) = (Vec::new(), [0u32; 256], 0);
        let safe = || {
            ids.clear();
            tokenizer.encode_into(text, &mut ids).unwrap();
        };
        let raw = || unsafe {
            stk_encode(
                coder,
                text.as_ptr(),
                text.len(),
                room.as_mut_ptr(),
                256,
                &mut count,
                std::ptr::null_mut(),
            );
        };
        let (safe, raw) = best(safe, raw);
        println!(
            "{:3} bytes: crate {safe:.0} ns, library {raw:.0} ns, the crate takes {:.0} ns more",
            text.len(),
            safe - raw
        );
    }
}
