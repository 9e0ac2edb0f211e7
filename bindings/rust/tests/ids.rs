//! With the model that STREAMTOK_TEST_MODEL names; without it nothing is tested.

use streamtok::{Decoder, Encoder, Special, Tokenizer};

const TEXT: &str = "hello world 123 don't <s>x</s> café 日本 hello hello";

fn tokenizer() -> Option<Tokenizer> {
    let path = std::env::var("STREAMTOK_TEST_MODEL").ok()?;
    Some(Tokenizer::from_file(path).expect("it opens"))
}

#[test]
fn texts_batches_and_streams_have_the_same_ids() {
    let Some(tokenizer) = tokenizer() else { return };
    let ids = tokenizer.encode(TEXT).unwrap();
    assert_eq!(tokenizer.count(TEXT).unwrap(), ids.len());
    assert_eq!(
        tokenizer.encode_batch(&[TEXT, "", TEXT]).unwrap(),
        [ids.clone(), vec![], ids.clone()]
    );
    let mut stream = tokenizer.encode_stream().unwrap();
    for _ in 0..2 {
        let mut made = Vec::new();
        for byte in TEXT.as_bytes() {
            made.extend(stream.feed_bytes(&[*byte]).unwrap());
        }
        made.extend(stream.flush().unwrap());
        assert_eq!(made, ids);
    }
    let (same, offsets) = tokenizer.encode_with_offsets(TEXT).unwrap();
    assert_eq!(same, ids);
    assert!(offsets.iter().all(|at| TEXT.is_char_boundary(*at as usize)));
    let long = TEXT.repeat(500);
    assert_eq!(
        tokenizer.decode(&tokenizer.encode(&long).unwrap(), false).unwrap(),
        long
    );
}

#[test]
fn ids_become_text_again_up_to_a_stop_string() {
    let Some(tokenizer) = tokenizer() else { return };
    let ids = tokenizer.encode(TEXT).unwrap();
    let mut stream = tokenizer.decode_stream(false, &[]).unwrap();
    let text: String = ids.iter().map(|id| stream.step(*id).unwrap()).collect();
    assert_eq!(text + &stream.flush().unwrap(), TEXT);
    let mut stream = tokenizer.decode_stream(false, &["zzz", "123"]).unwrap();
    let text: String = ids.iter().map(|id| stream.step(*id).unwrap()).collect();
    assert_eq!((text.as_str(), stream.stopped()), ("hello world ", Some(1)));
    assert_eq!(tokenizer.decode(&ids, true).unwrap().len(), TEXT.len() - 7);
    assert_eq!(
        tokenizer.id_to_bytes(ids[0]),
        Some(&b"hello"[..ids_len(&tokenizer, ids[0])])
    );
    assert!(
        tokenizer.vocab_size() > 256
            && tokenizer.token_to_id("<s>").is_some()
            && tokenizer.token_to_id("\u{fffe}no").is_none()
    );
}

fn ids_len(tokenizer: &Tokenizer, id: u32) -> usize {
    tokenizer.decode(&[id], false).unwrap().len()
}

#[test]
fn errors_say_what_and_where() {
    let Some(tokenizer) = tokenizer() else { return };
    let unknown = tokenizer.decode(&[1, u32::MAX], false).unwrap_err();
    assert_eq!((unknown.status, unknown.index), (11, 1));
    let strict = tokenizer.with(Special::Refuse, true).unwrap();
    let refused = strict.encode("ab<s>").unwrap_err();
    assert_eq!((refused.status, refused.offset), (10, 2));
    assert!(refused.to_string().contains("special token that is refused (byte 2"));
    assert_eq!(strict.encode_batch(&["a", "b<s>"]).unwrap_err().row, 1);
    assert!(strict.encode("").unwrap().len() < 3);
    assert_eq!(
        Tokenizer::from_bytes(b"no model").err().map(|error| error.status),
        Some(5)
    );
    assert_eq!(
        Tokenizer::from_file("/no/such/file").err().map(|error| error.status),
        Some(4)
    );
}

#[test]
fn threads_share_a_tokenizer() {
    let Some(tokenizer) = tokenizer() else { return };
    let ids = tokenizer.encode(TEXT).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200).for_each(|_| assert_eq!(tokenizer.encode(TEXT).unwrap(), ids)));
        }
    });
}
