//! streamtok: the ids of a model's own tokenizer, from whole texts, batches and streams.
//!
//! A model is one file, which `streamtok compile tokenizer.json -o model.stm` writes.
//!
//! ```no_run
//! use streamtok::{Decoder, Encoder, Tokenizer};
//!
//! # fn main() -> streamtok::Result<()> {
//! let tokenizer = Tokenizer::from_file("model.stm")?;
//! let ids = tokenizer.encode("hello world")?;
//! let mut stream = tokenizer.decode_stream(true, &["</s>"])?;
//! for id in &ids {
//!     print!("{}", stream.step(*id)?);
//! }
//! assert_eq!(tokenizer.decode(&ids, true)?, "hello world");
//! # Ok(())
//! # }
//! ```

mod stream;
mod sys;

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_int;
use std::path::Path;
use std::ptr;

pub use stream::{DecodeStream, EncodeStream};
use sys::{Fault, Handle, Options, Text};

/// What went wrong: the library's status, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// A `stk_status` of streamtok.h.
    pub status: i32,
    /// The byte of the text, or of all that a stream was fed.
    pub offset: u64,
    /// The number of the id, or of the special token.
    pub index: u64,
    /// The number of the text of a batch.
    pub row: u64,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = unsafe { CStr::from_ptr(sys::stk_message(self.status)) };
        write!(
            f,
            "{} (byte {}, number {}, text {})",
            message.to_string_lossy(),
            self.offset,
            self.index,
            self.row
        )
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

fn error_of(status: c_int, fault: &Fault) -> Error {
    Error {
        status,
        offset: fault.offset,
        index: fault.index,
        row: fault.row,
    }
}

fn checked(status: c_int, fault: &Fault) -> Result<()> {
    if status == sys::OK {
        Ok(())
    } else {
        Err(error_of(status, fault))
    }
}

/// Appends what a call writes, which says how much room it needs where there is too little. `least`: the room of the
/// first call.
fn grown<T>(
    made: &mut Vec<T>,
    least: usize,
    mut call: impl FnMut(*mut T, usize, *mut usize, *mut Fault) -> c_int,
) -> Result<()> {
    let (mut fault, mut room, mut count) = (Fault::new(), least, 0);
    let mut status = sys::MORE;
    while status == sys::MORE {
        made.reserve(room);
        let place = made.spare_capacity_mut();
        status = call(place.as_mut_ptr().cast(), place.len(), &mut count, &mut fault);
        room = count;
    }
    checked(status, &fault)?;
    unsafe { made.set_len(made.len() + count) };
    Ok(())
}

/// What turns text into ids.
pub trait Encoder: Send + Sync {
    fn encode(&self, text: &str) -> Result<Vec<u32>>;
    fn encode_batch(&self, texts: &[&str]) -> Result<Vec<Vec<u32>>>;
}

/// What turns ids into text.
pub trait Decoder: Send + Sync {
    fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String>;
}

/// What becomes of special tokens that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    Refuse = 0,
    Text = 1,
    Allow = 2,
}

/// A model, and how texts are encoded with it. Any number of threads may use one.
pub struct Tokenizer {
    model: Handle,
    coder: Handle,
    pool: Handle,
}

unsafe impl Send for Tokenizer {}
unsafe impl Sync for Tokenizer {}

impl Tokenizer {
    /// Opens a compiled model. Special tokens that a text names become their ids.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let Ok(name) = CString::new(path.as_ref().as_os_str().as_encoded_bytes()) else {
            return Err(error_of(3, &Fault::new()));
        };
        Self::opened(|model| unsafe { sys::stk_model_open(name.as_ptr(), model) })
    }

    /// The same from memory, which is copied.
    pub fn from_bytes(data: &[u8]) -> Result<Self> {
        Self::opened(|model| unsafe { sys::stk_model_open_memory(data.as_ptr().cast(), data.len(), model) })
    }

    fn opened(open: impl FnOnce(*mut Handle) -> c_int) -> Result<Self> {
        if unsafe { sys::stk_abi_version() } != sys::ABI_VERSION {
            return Err(error_of(6, &Fault::new()));
        }
        let mut made = Tokenizer {
            model: ptr::null_mut(),
            coder: ptr::null_mut(),
            pool: ptr::null_mut(),
        };
        checked(open(&mut made.model), &Fault::new())?;
        checked(unsafe { sys::stk_pool_new(0, &mut made.pool) }, &Fault::new())?;
        made.with(Special::Allow, false)
    }

    /// The same model with other options. template: the model's ids in front of each text and behind it.
    pub fn with(mut self, special: Special, template: bool) -> Result<Self> {
        let mut coder = ptr::null_mut();
        let options = Options {
            size: std::mem::size_of::<Options>(),
            special: special as u32,
            errors: 0,
            flags: template as u32,
            allowed: ptr::null(),
            allowed_count: 0,
            refused: ptr::null(),
            refused_count: 0,
        };
        checked(
            unsafe { sys::stk_coder_new(self.model, &options, &mut coder) },
            &Fault::new(),
        )?;
        unsafe { sys::stk_coder_free(std::mem::replace(&mut self.coder, coder)) };
        Ok(self)
    }

    /// One more than the largest id.
    pub fn vocab_size(&self) -> usize {
        unsafe { sys::stk_model_vocab_size(self.model) as usize }
    }

    /// The id of a token by its text, or of an added token by its name.
    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        let mut id = 0;
        let status = unsafe { sys::stk_model_find(self.model, token.as_ptr().cast(), token.len(), &mut id) };
        (status == sys::OK).then_some(id)
    }

    /// The bytes that an id stands for.
    pub fn id_to_bytes(&self, id: u32) -> Option<&[u8]> {
        let mut bytes = Text {
            data: ptr::null(),
            size: 0,
        };
        let status = unsafe { sys::stk_model_token(self.model, id, &mut bytes) };
        (status == sys::OK).then(|| unsafe { std::slice::from_raw_parts(bytes.data.cast(), bytes.size) })
    }

    /// Appends the ids of a text to a vector, whose memory is used again.
    pub fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        let (data, size) = (text.as_ptr().cast(), text.len());
        grown(ids, size / 3 + 8, |place, room, count, fault| unsafe {
            sys::stk_encode(self.coder, data, size, place, room, count, fault)
        })
    }

    /// The ids, and of each the byte of the text where the character begins that it came from.
    pub fn encode_with_offsets(&self, text: &str) -> Result<(Vec<u32>, Vec<u64>)> {
        let (data, size) = (text.as_ptr().cast(), text.len());
        let (mut ids, mut offsets) = (Vec::new(), Vec::<u64>::new());
        grown(&mut ids, size + 8, |place, room, count, fault| unsafe {
            offsets.reserve(room);
            sys::stk_encode_offsets(self.coder, data, size, place, offsets.as_mut_ptr(), room, count, fault)
        })?;
        unsafe { offsets.set_len(ids.len()) };
        Ok((ids, offsets))
    }

    /// How many ids a text has.
    pub fn count(&self, text: &str) -> Result<usize> {
        let (mut fault, mut count) = (Fault::new(), 0);
        let status = unsafe { sys::stk_count(self.coder, text.as_ptr().cast(), text.len(), &mut count, &mut fault) };
        checked(status, &fault).map(|()| count)
    }

    /// A text that comes in parts.
    pub fn encode_stream(&self) -> Result<EncodeStream> {
        EncodeStream::new(self.coder)
    }

    /// Ids that come one by one, as text up to a stop string.
    pub fn decode_stream(&self, skip_special_tokens: bool, stops: &[&str]) -> Result<DecodeStream> {
        DecodeStream::new(self.model, skip_special_tokens, stops)
    }
}

impl Encoder for Tokenizer {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_into(text, &mut ids).map(|()| ids)
    }

    fn encode_batch(&self, texts: &[&str]) -> Result<Vec<Vec<u32>>> {
        let given: Vec<Text> = texts.iter().map(|text| Text::of(text)).collect();
        let (mut fault, mut batch, mut count) = (Fault::new(), ptr::null_mut(), 0);
        unsafe {
            checked(
                sys::stk_encode_batch(
                    self.coder,
                    self.pool,
                    given.as_ptr(),
                    given.len(),
                    &mut batch,
                    &mut fault,
                ),
                &fault,
            )?;
            let ids = sys::stk_batch_ids(batch, &mut count);
            let starts = std::slice::from_raw_parts(sys::stk_batch_starts(batch, &mut count), texts.len() + 1);
            let row = |at: &[u64]| match (at[1] - at[0]) as usize {
                0 => Vec::new(),
                n => std::slice::from_raw_parts(ids.add(at[0] as usize), n).to_vec(),
            };
            let rows = starts.windows(2).map(row).collect();
            sys::stk_batch_free(batch);
            Ok(rows)
        }
    }
}

impl Decoder for Tokenizer {
    fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String> {
        let (mut text, flags) = (Vec::<u8>::new(), skip_special_tokens as u32);
        grown(&mut text, 6 * ids.len() + 16, |place, room, size, fault| unsafe {
            sys::stk_decode(self.model, ids.as_ptr(), ids.len(), flags, place, room, size, fault)
        })?;
        Ok(stream::text_of(text))
    }
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        unsafe {
            sys::stk_pool_free(self.pool);
            sys::stk_coder_free(self.coder);
            sys::stk_model_free(self.model);
        }
    }
}
