"""LangChain's text splitters with lengths in tokens.

    pip install langchain-text-splitters
    python examples/langchain_splitter.py [FILE]

by_paragraphs() lets LangChain cut at paragraphs, lines and words, and counts tokens to know when a chunk is full: no
chunk has more than LIMIT tokens. by_tokens() cuts after every LIMIT tokens, wherever that is. disallowed_special=()
takes names such as <|endoftext|> for ordinary text: documents may hold them.
"""

import functools
import pathlib
import sys

from langchain_text_splitters import RecursiveCharacterTextSplitter
from langchain_text_splitters.base import Tokenizer, split_text_on_tokens

import streamtok

SAMPLE = "\n\n".join(f"Paragraph {n}. A chunk must fit the window of the model, in tokens.\n" * 5 for n in range(20))
LIMIT = 100

encoding = streamtok.get_encoding("o200k_base")
count = functools.partial(encoding.count, disallowed_special=())


def by_paragraphs(text: str, limit: int = LIMIT) -> list[str]:
    return RecursiveCharacterTextSplitter(chunk_size=limit, chunk_overlap=0, length_function=count).split_text(text)


def by_tokens(text: str, limit: int = LIMIT, overlap: int = 10) -> list[str]:
    tokenizer = Tokenizer(
        tokens_per_chunk=limit, chunk_overlap=overlap, encode=encoding.encode_ordinary, decode=encoding.decode
    )
    return split_text_on_tokens(text=text, tokenizer=tokenizer)


def main() -> None:
    text = pathlib.Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else SAMPLE
    for split in (by_paragraphs, by_tokens):
        chunks = split(text)
        print(f"{split.__name__}: {len(chunks)} chunks, the longest has {max(map(count, chunks))} tokens")


if __name__ == "__main__":
    main()
