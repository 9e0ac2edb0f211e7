//! csrc/streamtok.h, as far as this crate calls it.

use std::os::raw::{c_char, c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const c_char,
    pub size: usize,
}

impl Text {
    pub fn of(text: &str) -> Self {
        Text {
            data: text.as_ptr().cast(),
            size: text.len(),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Fault {
    pub size: usize,
    pub offset: u64,
    pub index: u64,
    pub row: u64,
}

impl Fault {
    pub fn new() -> Self {
        Fault {
            size: std::mem::size_of::<Fault>(),
            ..Fault::default()
        }
    }
}

#[repr(C)]
pub struct Options {
    pub size: usize,
    pub special: u32,
    pub errors: u32,
    pub flags: u32,
    pub allowed: *const Text,
    pub allowed_count: usize,
    pub refused: *const Text,
    pub refused_count: usize,
}

pub const ABI_VERSION: u32 = 1;
pub const OK: c_int = 0;
pub const MORE: c_int = 1;

/// An object of the library.
pub type Handle = *mut c_void;

extern "C" {
    pub fn stk_abi_version() -> u32;
    pub fn stk_message(status: c_int) -> *const c_char;

    pub fn stk_model_open(path: *const c_char, model: *mut Handle) -> c_int;
    pub fn stk_model_open_memory(data: *const c_void, size: usize, model: *mut Handle) -> c_int;
    pub fn stk_model_free(model: Handle);
    pub fn stk_model_vocab_size(model: Handle) -> u32;
    pub fn stk_model_find(model: Handle, bytes: *const c_char, size: usize, id: *mut u32) -> c_int;
    pub fn stk_model_token(model: Handle, id: u32, bytes: *mut Text) -> c_int;

    pub fn stk_coder_new(model: Handle, options: *const Options, coder: *mut Handle) -> c_int;
    pub fn stk_coder_free(coder: Handle);
    pub fn stk_encode(
        coder: Handle,
        text: *const c_char,
        size: usize,
        ids: *mut u32,
        capacity: usize,
        count: *mut usize,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_encode_offsets(
        coder: Handle,
        text: *const c_char,
        size: usize,
        ids: *mut u32,
        offsets: *mut u64,
        capacity: usize,
        count: *mut usize,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_count(coder: Handle, text: *const c_char, size: usize, count: *mut usize, fault: *mut Fault) -> c_int;

    pub fn stk_pool_new(threads: usize, pool: *mut Handle) -> c_int;
    pub fn stk_pool_free(pool: Handle);
    pub fn stk_encode_batch(
        coder: Handle,
        pool: Handle,
        texts: *const Text,
        count: usize,
        batch: *mut Handle,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_batch_ids(batch: Handle, count: *mut usize) -> *const u32;
    pub fn stk_batch_starts(batch: Handle, texts: *mut usize) -> *const u64;
    pub fn stk_batch_free(batch: Handle);

    pub fn stk_stream_new(coder: Handle, stream: *mut Handle) -> c_int;
    pub fn stk_stream_free(stream: Handle);
    pub fn stk_stream_feed(
        stream: Handle,
        text: *const c_char,
        size: usize,
        ids: *mut u32,
        capacity: usize,
        count: *mut usize,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_stream_flush(
        stream: Handle,
        ids: *mut u32,
        capacity: usize,
        count: *mut usize,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_stream_take(stream: Handle, ids: *mut u32, capacity: usize, count: *mut usize) -> c_int;

    pub fn stk_decode(
        model: Handle,
        ids: *const u32,
        count: usize,
        flags: u32,
        text: *mut u8,
        capacity: usize,
        size: *mut usize,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_decoder_new(model: Handle, flags: u32, stops: *const Text, count: usize, decoder: *mut Handle) -> c_int;
    pub fn stk_decoder_free(decoder: Handle);
    pub fn stk_decoder_feed(
        decoder: Handle,
        ids: *const u32,
        count: usize,
        text: *mut u8,
        capacity: usize,
        size: *mut usize,
        fault: *mut Fault,
    ) -> c_int;
    pub fn stk_decoder_flush(decoder: Handle, text: *mut u8, capacity: usize, size: *mut usize) -> c_int;
    pub fn stk_decoder_take(decoder: Handle, text: *mut u8, capacity: usize, size: *mut usize) -> c_int;
    pub fn stk_decoder_stopped(decoder: Handle) -> i32;
}
