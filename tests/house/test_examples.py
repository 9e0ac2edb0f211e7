"""The recipes in examples/: each runs on a file that the reader names, and its result is compared with tiktoken's."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import oracle
import pytest

import streamtok

EXAMPLES = oracle.PROJECT / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
TEXT = "First line, with wörds, 你好 and 🤗.\n\n<|endoftext|> is text here: it's 12345 of them!\n" * 60


@pytest.fixture
def recipe(monkeypatch):
    """Imports a recipe, or skips the test where a package that it needs is missing."""

    def load(name: str, *packages: str):
        for package in packages:
            pytest.importorskip(package, reason=f"the recipe needs {package}: pip install 'streamtok[recipes]'")
        monkeypatch.syspath_prepend(str(EXAMPLES))
        return importlib.import_module(name)

    return load


@pytest.fixture
def source(tmp_path) -> pathlib.Path:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def said(monkeypatch, capsys):
    """What a recipe's main() prints when it gets these arguments."""

    def run(module, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
        module.main()
        return capsys.readouterr().out

    return run


def expected(name: str = "o200k_base", text: str = TEXT) -> list[int]:
    return oracle.theirs(name).encode(text, disallowed_special=())


@pytest.mark.parametrize("name", NAMES)
def test_docstring_says_how_to_run_it_and_a_test_does(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert f"    python examples/{name}.py" in ast.get_docstring(ast.parse(text))
    assert f'recipe("{name}"' in pathlib.Path(__file__).read_text(encoding="utf-8")


def test_stream_from_socket(recipe, said, tmp_path):
    module, text = recipe("stream_from_socket"), TEXT.replace("<|endoftext|>", "This")
    received = module.receive(text.encode(), oracle.ours("o200k_base"))
    assert received.tolist() == expected(text=text)
    path = tmp_path / "plain.txt"
    path.write_bytes(text.encode())
    assert f"{len(received):,} ids" in said(module, path) and "4,000 ids" in said(module)


def test_dataloader_workers(recipe, tmp_path):
    module = recipe("dataloader_workers", "torch")
    paths = [tmp_path / f"{n}.txt" for n in range(3)]
    for n, path in enumerate(paths):
        path.write_bytes(TEXT.encode() * (n + 1))
    blocks = []
    for n in range(3):
        ids = expected("gpt2", TEXT * (n + 1))
        blocks += [ids[at : at + module.BLOCK] for at in range(0, len(ids) - module.BLOCK + 1, module.BLOCK)]
    names = list(map(str, paths))
    alone = list(module.Blocks(names, oracle.ours("gpt2")))
    assert [block.tolist() for block in alone] == blocks
    # The workers are forked, so the recipe runs in a process without the threads of pytest.
    script = f"""
        import dataloader_workers as recipe, json, streamtok
        blocks = recipe.Blocks({names}, streamtok.get_encoding("gpt2"))
        print(json.dumps([row for batch in recipe.DataLoader(blocks, 8, num_workers=2) for row in batch.tolist()]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(EXAMPLES)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)) == sorted(blocks)


def test_nanogpt_files(recipe, said, source, tmp_path):
    module = recipe("nanogpt_files")
    assert said(module, source, tmp_path).startswith("train.bin:")
    train, val = (np.fromfile(tmp_path / f"{name}.bin", "<u2") for name in ("train", "val"))
    cut = TEXT.encode().rfind(b"\n", 0, len(TEXT.encode()) * 9 // 10) + 1
    parts = TEXT.encode()[:cut].decode(), TEXT.encode()[cut:].decode()
    assert [train.tolist(), val.tolist()] == [expected("gpt2", part) for part in parts]
    x, y = module.batch(tmp_path / "train.bin", 5, 32, np.random.default_rng(1))
    assert x.shape == y.shape == (5, 32) and np.array_equal(x[:, 1:], y[:, :-1])
    row = x[0].tolist()
    assert any(train[at : at + 32].tolist() == row for at in range(len(train)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of LangChain's own imports
def test_langchain_splitter(recipe, said, source):
    module = recipe("langchain_splitter", "langchain_text_splitters")
    assert "the longest has" in said(module, source)
    for chunk in module.by_paragraphs(TEXT, 50):
        assert 0 < len(expected(text=chunk)) <= 50 and chunk in TEXT
    ids = expected()
    chunks = module.by_tokens(TEXT, 50, overlap=10)
    assert chunks == [oracle.theirs("o200k_base").decode(ids[at : at + 50]) for at in range(0, len(ids) - 10, 40)]


@pytest.mark.filterwarnings("ignore")  # LlamaIndex's own imports warn
def test_llama_index_splitter(recipe, said, source):
    module = recipe("llama_index_splitter", "llama_index.core")
    assert "nodes, the longest has" in said(module, source)
    nodes = module.nodes_of(TEXT, 50)
    assert len(nodes) > 10 and all(0 < len(expected(text=node)) <= 50 for node in nodes)
    assert "".join("".join(nodes).split()) == "".join(TEXT.split())  # LlamaIndex changes white space between nodes
    assert module.Settings.tokenizer("hello world") == [24912, 2375]


def test_fastapi_service(recipe):
    module = recipe("fastapi_service", "fastapi", "httpx")
    ids = expected()
    with importlib.import_module("fastapi.testclient").TestClient(module.app) as client:

        def said(path: str, **content: object) -> dict[str, object]:
            return client.post(path, json=content).json()

        assert said("/count", text=TEXT) == {"tokens": len(ids)}
        assert said("/encode", text=TEXT) == {"ids": ids}
        assert said("/decode", ids=ids) == {"text": TEXT}
        assert client.post("/decode", json={"ids": [200_005_000]}).status_code == 422
        assert client.post("/generate", json={"prompt": "a", "stop": [""]}).status_code == 422
        for content, want in (
            ({"prompt": TEXT, "tokens": len(ids)}, TEXT),
            ({"prompt": "🤗", "tokens": len(expected(text="🤗")) - 1}, "\ufffd"),
            ({"prompt": TEXT, "tokens": module.MOST_TOKENS, "stop": ["it's", "12345"]}, TEXT[: TEXT.index("it's")]),
            ({"prompt": "", "tokens": 5}, ""),
        ):
            answer = client.post("/generate", json=content)
            assert answer.headers["content-type"].startswith("text/event-stream")
            *events, done, end = answer.text.split("\n\n")
            assert (done, end) == ("data: [DONE]", "")
            assert "".join(json.loads(event.removeprefix("data: ")) for event in events) == want
        assert len(module.app.state.model.free) == module.SLOTS


def test_fastapi_service_refuses_what_it_cannot_answer(recipe):
    module = recipe("fastapi_service", "fastapi", "httpx")
    bodies = [
        *(f'{{"prompt": "a", "tokens": {tokens}}}' for tokens in ("-5", "NaN", "1e999", f"{10**30}", "16385", "1.5")),
        '{"prompt": NaN}',
        '{"prompt": "\\ud800"}',
        json.dumps({"prompt": "a", "stop": ["x"] * 17}),
    ]
    with importlib.import_module("fastapi.testclient").TestClient(module.app) as client:

        def status(path: str, body: str) -> int:
            return client.post(path, content=body, headers={"content-type": "application/json"}).status_code

        assert [status("/generate", body) for body in bodies] == [422] * len(bodies)
        for path, body in (("/count", '{"text": NaN}'), ("/decode", '{"ids": [NaN]}'), ("/decode", '{"ids": [-1]}')):
            assert status(path, body) == 422
        assert len(module.app.state.model.free) == module.SLOTS


def test_polars_column(recipe, said, source):
    module = recipe("polars_column", "polars")
    texts = ["", TEXT, None, "naïve 🤗", ""]
    frame = module.with_tokens(module.pl.DataFrame({"text": texts}), "text", oracle.ours("o200k_base"))
    ids = [expected(text=text or "") for text in texts]
    assert frame["ids"].to_list() == ids and frame["tokens"].to_list() == list(map(len, ids))
    assert "tokens in 180 rows" in said(module, source)


def test_torch_on_gpu_says_what_is_missing(recipe, said, source):
    module = recipe("torch_on_gpu")
    if has_gpu():
        pytest.skip("here is a GPU: the other test runs the recipe on it")
    with pytest.raises(SystemExit, match=r"needs an NVIDIA GPU, CuPy and torch: .*"):
        said(module, source)


def test_torch_on_gpu(recipe, said):
    module = recipe("torch_on_gpu", "torch")
    if not has_gpu():
        pytest.skip("needs CuPy and a CUDA device")
    text = TEXT.replace("<|endoftext|>", "This")
    ids = module.ids_on_device(text, oracle.ours("o200k_base"))
    assert ids.is_cuda and ids.tolist() == expected(text=text)
    assert "ids on cuda:0" in said(module)


def has_gpu() -> bool:
    return "missing" not in streamtok.info()["cuda"]


def test_own_vocabulary(recipe, said, source, tmp_path):
    module = recipe("own_vocabulary")
    tiktoken = pytest.importorskip("tiktoken")
    mine = module.learn(str(source), 300, tmp_path / "mine.tiktoken")
    assert "400 tokens;" in said(module)
    with pytest.warns(UserWarning, match="no more than"):  # the text is too short for all that the recipe asks for
        assert "tokens;" in said(module, source)
    theirs = tiktoken.Encoding(
        "mine",
        pat_str=streamtok.patterns.O200K,
        mergeable_ranks=importlib.import_module("tiktoken.load").load_tiktoken_bpe(str(tmp_path / "mine.tiktoken")),
        special_tokens={"<|endoftext|>": 299},
    )
    ids = theirs.encode(TEXT, allowed_special="all")
    assert mine.encode(TEXT, allowed_special="all") == ids and len(ids) < len(TEXT.encode()) / 1.5


def test_chat_tokens(recipe, said, tmp_path):
    """Compared with the whole prompt, for which tiktoken is given the special tokens."""
    module = recipe("chat_tokens")
    tiktoken = pytest.importorskip("tiktoken")
    plain = oracle.theirs("o200k_base")
    marks = {"<|im_start|>": 200264, "<|im_end|>": 200265, "<|im_sep|>": 200266}
    chat = tiktoken.Encoding(
        "chat", pat_str=plain._pat_str, mergeable_ranks=plain._mergeable_ranks, special_tokens=marks
    )
    messages = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "so it is"}]
    prompt = "".join(f"<|im_start|>{each['role']}<|im_sep|>{each['content']}<|im_end|>" for each in messages)
    ids = chat.encode(prompt + "<|im_start|>assistant<|im_sep|>", allowed_special="all", disallowed_special=())
    assert module.tokens_of(messages, oracle.ours("o200k_base")) == len(ids)
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    assert f"2 messages, {len(ids)} tokens" in said(module, path) and "3 messages" in said(module)


def test_resume_after_crash(recipe, said, tmp_path):
    module = recipe("resume_after_crash")
    source = tmp_path / "long.txt"
    source.write_bytes(TEXT.encode() * 80)
    done = module.crash_and_resume(source, tmp_path / "ids.bin")
    ids = np.fromfile(tmp_path / "ids.bin", "<u4").tolist()
    assert ids == expected(text=TEXT * 80) and len(ids) == done.ids
    assert done.earlier is not None and 0 < done.earlier.offset < done.bytes
    assert "went on at byte" in said(module, source)
