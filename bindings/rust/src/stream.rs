//! Texts that come in parts, and ids that come one by one.

use std::os::raw::c_int;
use std::ptr;

use crate::sys::{self, Fault, Handle, Text};
use crate::{checked, Result};

/// The library gives UTF-8 wherever it does not give raw bytes.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    debug_assert!(std::str::from_utf8(&bytes).is_ok());
    unsafe { String::from_utf8_unchecked(bytes) }
}

/// All that a call and those that go on with it write; `least` is the room of the first call.
fn all<T: Copy>(
    least: usize,
    mut first: impl FnMut(*mut T, usize, *mut usize) -> c_int,
    mut more: impl FnMut(*mut T, usize, *mut usize) -> c_int,
    fault: *const Fault,
) -> Result<Vec<T>> {
    let (mut made, mut count) = (Vec::<T>::with_capacity(least), 0);
    let mut status = first(made.as_mut_ptr(), made.capacity(), &mut count);
    while status == sys::MORE {
        unsafe { made.set_len(made.len() + count) };
        made.reserve(made.len() + 64);
        let place = unsafe { made.as_mut_ptr().add(made.len()) };
        status = more(place, made.capacity() - made.len(), &mut count);
    }
    checked(status, unsafe { &*fault })?;
    unsafe { made.set_len(made.len() + count) };
    Ok(made)
}

/// A text that comes in parts, cut between any two characters. One thread at a time.
pub struct EncodeStream {
    stream: Handle,
}

unsafe impl Send for EncodeStream {}

impl EncodeStream {
    pub(crate) fn new(coder: Handle) -> Result<Self> {
        let mut made = EncodeStream {
            stream: ptr::null_mut(),
        };
        checked(unsafe { sys::stk_stream_new(coder, &mut made.stream) }, &Fault::new()).map(|()| made)
    }

    /// The ids that no later part can change.
    pub fn feed(&mut self, text: &str) -> Result<Vec<u32>> {
        self.feed_bytes(text.as_bytes())
    }

    /// The same for bytes of UTF-8, which may be cut anywhere.
    pub fn feed_bytes(&mut self, text: &[u8]) -> Result<Vec<u32>> {
        let (stream, mut fault) = (self.stream, Fault::new());
        let at = ptr::addr_of_mut!(fault);
        all(
            text.len() / 3 + 8,
            |ids, room, count| unsafe {
                sys::stk_stream_feed(stream, text.as_ptr().cast(), text.len(), ids, room, count, at)
            },
            |ids, room, count| unsafe { sys::stk_stream_take(stream, ids, room, count) },
            at,
        )
    }

    /// The rest: the text ends. The stream is then ready for the next one.
    pub fn flush(&mut self) -> Result<Vec<u32>> {
        let (stream, mut fault) = (self.stream, Fault::new());
        let at = ptr::addr_of_mut!(fault);
        all(
            64,
            |ids, room, count| unsafe { sys::stk_stream_flush(stream, ids, room, count, at) },
            |ids, room, count| unsafe { sys::stk_stream_take(stream, ids, room, count) },
            at,
        )
    }
}

impl Drop for EncodeStream {
    fn drop(&mut self) {
        unsafe { sys::stk_stream_free(self.stream) }
    }
}

/// Ids that come one by one, as whole characters, up to a stop string. One thread at a time.
pub struct DecodeStream {
    decoder: Handle,
}

unsafe impl Send for DecodeStream {}

impl DecodeStream {
    pub(crate) fn new(model: Handle, skip_special_tokens: bool, stops: &[&str]) -> Result<Self> {
        let given: Vec<Text> = stops.iter().map(|text| Text::of(text)).collect();
        let mut made = DecodeStream {
            decoder: ptr::null_mut(),
        };
        let flags = skip_special_tokens as u32;
        let status = unsafe { sys::stk_decoder_new(model, flags, given.as_ptr(), given.len(), &mut made.decoder) };
        checked(status, &Fault::new()).map(|()| made)
    }

    /// The text that an id completes; empty where it is only a part of a character, or of what may be a stop string.
    pub fn step(&mut self, id: u32) -> Result<String> {
        self.feed(&[id])
    }

    /// The same for several ids.
    pub fn feed(&mut self, ids: &[u32]) -> Result<String> {
        let (decoder, mut fault) = (self.decoder, Fault::new());
        let at = ptr::addr_of_mut!(fault);
        all(
            8 * ids.len() + 16,
            |text, room, size| unsafe { sys::stk_decoder_feed(decoder, ids.as_ptr(), ids.len(), text, room, size, at) },
            |text, room, size| unsafe { sys::stk_decoder_take(decoder, text, room, size) },
            at,
        )
        .map(text_of)
    }

    /// The number of the stop string that ended the text.
    pub fn stopped(&self) -> Option<usize> {
        usize::try_from(unsafe { sys::stk_decoder_stopped(self.decoder) }).ok()
    }

    /// What is left: the text ends. The stream is then ready for the next one.
    pub fn flush(&mut self) -> Result<String> {
        let (decoder, fault) = (self.decoder, Fault::new());
        all(
            64,
            |text, room, size| unsafe { sys::stk_decoder_flush(decoder, text, room, size) },
            |text, room, size| unsafe { sys::stk_decoder_take(decoder, text, room, size) },
            &fault,
        )
        .map(text_of)
    }
}

impl Drop for DecodeStream {
    fn drop(&mut self) {
        unsafe { sys::stk_decoder_free(self.decoder) }
    }
}
