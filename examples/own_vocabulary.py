"""A vocabulary of one's own: learn it from text, save it, load it, encode with it.

    python examples/own_vocabulary.py [FILE ...]

The saved file mine.tiktoken is in tiktoken's format; mine.tiktoken.json beside it holds the pattern and the special
tokens. A path that ends in .json gets Hugging Face's tokenizer.json instead.
"""

import pathlib
import sys
import tempfile

import streamtok
from streamtok.train import load, save, train

SAMPLE = [f"Document {n}: merges are learned from the pairs that are seen most often." for n in range(500)]


def learn(sources: object, vocab_size: int, path: pathlib.Path) -> streamtok.Encoding:
    """Trains, saves to `path`, and returns what a later program loads from there."""
    trained = train(sources, vocab_size, pattern="o200k", special_tokens=["<|endoftext|>"], name="mine")
    save(trained, path)
    return load(path)


def main() -> None:
    sources, size = (sys.argv[1:], 4096) if len(sys.argv) > 1 else (iter(SAMPLE), 400)
    with tempfile.TemporaryDirectory() as folder:
        mine = learn(sources, size, pathlib.Path(folder, "mine.tiktoken"))
    text = "A document of its own: the pairs seen most often are merged.<|endoftext|>"
    ids = mine.encode(text, allowed_special="all")
    assert mine.decode(ids) == text
    print(f"{mine.n_vocab} tokens; {len(text)} characters became {len(ids)} ids")
    print(mine.decode_tokens_bytes(ids))


if __name__ == "__main__":
    main()
