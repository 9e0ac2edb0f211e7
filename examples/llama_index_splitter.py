"""LlamaIndex with streamtok as its tokenizer: nodes of at most LIMIT tokens.

    pip install llama-index-core
    python examples/llama_index_splitter.py [FILE]

LlamaIndex takes any function from a text to a list of tokens. Settings.tokenizer sets it for everything that counts
tokens; a splitter takes its own. encode_ordinary takes names such as <|endoftext|> for ordinary text.
"""

import pathlib
import sys

from llama_index.core import Document, Settings
from llama_index.core.node_parser import TokenTextSplitter

import streamtok

SAMPLE = "A node holds a stretch of a document. Its length is counted in tokens of the model.\n" * 60
LIMIT = 100

encoding = streamtok.get_encoding("o200k_base")
Settings.tokenizer = encoding.encode_ordinary


def nodes_of(text: str, limit: int = LIMIT) -> list[str]:
    """The texts of the nodes."""
    splitter = TokenTextSplitter(chunk_size=limit, chunk_overlap=0, tokenizer=encoding.encode_ordinary)
    return [node.get_content() for node in splitter.get_nodes_from_documents([Document(text=text)])]


def main() -> None:
    text = pathlib.Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else SAMPLE
    nodes = nodes_of(text)
    longest = max(len(encoding.encode_ordinary(node)) for node in nodes)
    print(f"{len(nodes)} nodes, the longest has {longest} tokens")


if __name__ == "__main__":
    main()
