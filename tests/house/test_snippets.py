"""What README.md and docs/ show runs as it stands there, in a folder that has the files it names.

Blocks that need a GPU, or a file that never ends, begin with "``` python", with a blank, and are left out."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import oracle
import pytest

ROOT = oracle.PROJECT
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.M | re.S)

# What pages leave to their readers: names, and a step in front of the last block.
BEFORE = """
import random
import streamtok
from streamtok import Encoding
enc = streamtok.get_encoding("o200k_base")
texts = ["hello world", "naïve 🤗"]
text = conversation = whole_conversation = prompt = question = "How old is the moon?"
"""
NAMES = {
    "docs/arrow.md": """
import pandas, polars, pyarrow, datasets
frame = polars.DataFrame({"text": texts})
""",
    "docs/chat.md": 'messages, tools = [{"role": "user", "content": "How old?"}], None',
    "docs/formats.md": 'enc.encode_file("corpus.txt", "corpus.parquet")',
    "docs/longest_match.md": "tokens = {bytes([byte]): byte + 1 for byte in range(256)}",
    "docs/models.md": 'Encoding.from_file("tokenizer.json").compile("model.stm")',
    "docs/training.md": """
import numpy
from streamtok.train import train
enc, other = train("corpus/*.txt", 400), train("other.txt", 300)
old_embedding = numpy.zeros((400, 2))
""",
    "docs/serving.md": """
from streamtok.serving import MicroBatcher
new_message, start, end, tenant = " Old.", 0, 3, "a"
steps = [([3, 7], [24912, 2375])]
send = finish = lambda *arguments: None
prompt_ids = enc.encode("The url is http")
choose = lambda context, allowed: int(allowed[0])
""",
}
COMMANDS = {"docs/vectors.md": "streamtok vectors -e models/qwen3 -o other.json\n"}
SPEC = 'sources = ["corpus/*.txt"]\noutput = "tokens"\nencoding = "r50k_base"\n'
SMALLER = {
    "32_000": "400",
    "32k": "400",
    "24_000": "380",
    "24k": "380",
    "8_000": "50",
    "8k": "50",
    "*.jsonl.zst": "*.txt",
    ".txt.zst": ".txt",
    "workers=8": "workers=2",
}

# Packages that whole pages, or single blocks, ask for.
ASKS = {
    "datatrove.executor": "datatrove",
    "import ray": "ray",
    "streamtok.ray": "ray",
    "transformers": "transformers",
    "import sentencepiece": "sentencepiece",
    "langchain": "langchain_text_splitters",
    "llama_index": "llama_index",
    "llguidance": "llguidance",
    "litellm": "litellm",
    "polars": "polars",
    "pandas": "pandas",
    "datasets": "datasets",
    "with_format": "datasets",
    "draw(": "matplotlib",
    "--plot": "matplotlib",
    "parquet": "pyarrow",
    "encode_chat": "jinja2",
}


def blocks(page: str, language: str) -> list[str]:
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


def missing(source: str) -> set[str]:
    return {name for word, name in ASKS.items() if word in source and importlib.util.find_spec(name) is None}


def pages(language: str) -> list[str]:
    names = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [name for name in names if blocks(name, language)]


def prepare(folder: pathlib.Path) -> None:
    """The files that pages name."""
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"]
    )
    model.train_from_iterator(["hello world, how old is the moon?"] * 9, trainer)
    template = (
        "{% for m in messages %}{{ m.role }}: {% generation %}{{ m.content }}{% endgeneration %}<|end|>{% endfor %}"
    )
    for name in ("path/to", "path/to/model", "models/qwen3", "Llama-3.1-8B"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        model.save(str(folder / name / "tokenizer.json"))
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<|end|>", "chat_template": template}
        (folder / name / "tokenizer_config.json").write_text(json.dumps(settings))
    model.save(str(folder / "tokenizer.json"))
    for name in ("corpus", "de", "sw", "new", "mine"):
        (folder / name).mkdir()
    english = "".join(f"{line} is one of the lines of this text, number {line * line}.\n" for line in range(20_000))
    for name in ("corpus/a.txt", "corpus/b.txt", "corpus.txt"):
        (folder / name).write_text(english)
    others = (
        "held-out.txt other.txt notes.md README.md new/a.txt mine/a.txt de/a.txt sw/a.txt sw/b.txt sw.txt dev.de dev.sw"
    )
    for name in others.split():
        (folder / name).write_text(english[:20_000])
    if importlib.util.find_spec("pyarrow"):
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table({"text": ["one", "two"]}), folder / "data.parquet")
    if importlib.util.find_spec("sentencepiece"):
        import sentencepiece

        lines = [f"hello world, this is line {line}" for line in range(99)]
        with open(folder / "spiece.model", "wb") as out:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=out, vocab_size=60, hard_vocab_limit=False, minloglevel=2
            )
    (folder / "spec.toml").write_text(SPEC)
    (folder / "rwkv_vocab_v20230424.txt").write_text("".join(f"{i + 1} {bytes([i])!r} 1\n" for i in range(256)))


def small(source: str) -> str:
    """The same with less to do."""
    for word, other in SMALLER.items():
        source = source.replace(word, other)
    return source


def run(name: str, source: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    (folder / name).write_text(source, encoding="utf-8")
    program = "sh" if name.endswith(".sh") else sys.executable
    variables = os.environ | {"STREAMTOK_CACHE": str(folder / "cache")}
    return subprocess.run([program, name], cwd=folder, env=variables, capture_output=True, text=True)


def with_await(block: str) -> str:
    """A block that awaits, as a function that is run."""
    if not block.startswith("async "):
        return block
    inside = "".join(f"    {line}" for line in block.splitlines(True))
    return f"import asyncio\nasync def block():\n{inside}\nasyncio.run(block())\n"


@pytest.mark.parametrize("page", pages("python"))
def test_python_of_a_page_runs(page, tmp_path):
    prepare(tmp_path)
    found = blocks(page, "python")
    kept = [with_await(block) for block in found if not missing(block)]
    gone = set().union(*map(missing, found))
    if missing(NAMES.get(page, "")) or not kept:
        pytest.skip(f"not installed: {', '.join(sorted(gone | missing(NAMES.get(page, ''))))}")
    source = BEFORE + NAMES.get(page, "") + "\n" + "\n".join(kept)
    done = run("snippet.py", small(source), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "page", [page for page in pages("sh") if page not in ("docs/evidence.md", "docs/integrations.md")]
)
@pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")
def test_commands_of_a_page_run(page, tmp_path):
    """Those of streamtok; the two of README that set all up are run by .ci/run and by hand."""
    prepare(tmp_path)
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    ours = [line for line in lines if line.startswith("streamtok ") and not missing(line)]
    assert ours
    head = f'set -e\nstreamtok() {{ {sys.executable} -m streamtok "$@"; }}\n'
    done = run("commands.sh", small(head + COMMANDS.get(page, "") + "\n".join(ours)), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_snippet_runs_beside_the_sources(tmp_path):
    """With a built tree, a snippet that is tried in the clone imports the sources there."""
    script = tmp_path / "first.py"
    script.write_text(blocks("README.md", "python")[0], encoding="utf-8")
    command = [sys.executable, "-c", f"exec(open({str(script)!r}, encoding='utf-8').read())"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
