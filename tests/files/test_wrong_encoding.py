"""A file in another encoding than UTF-8 is refused with the command that converts it: encode_file, count, train."""

import pytest

import streamtok
from streamtok.files import encode_file
from streamtok.train import train

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("rich")

from streamtok.cli.app import app  # noqa: E402

TEXT = "plain words, then naïve café and a line\n" * 40
UTF_16 = "it looks like UTF-16: iconv -f UTF-16 -t UTF-8 converts it"
LATIN_1 = "a single one may be a letter of Latin-1: iconv -f LATIN1 -t UTF-8 converts it"
CASES = {
    "utf-16": UTF_16,
    "utf-16-le": UTF_16,
    "utf-16-be": UTF_16,
    "utf-32": "it looks like UTF-32: iconv -f UTF-32 -t UTF-8 converts it",
    "latin-1": LATIN_1,
    "cp1252": LATIN_1,
}


@pytest.fixture(scope="module")
def enc():
    return streamtok.get_encoding("r50k_base")


def refused(enc, path, threads=1, documents="text"):
    """The messages of encode_file, train and count."""
    target = path.with_name("out.bin")
    for act in (
        lambda: encode_file(enc, path, target, documents=documents, num_threads=threads, chunk_size=999),
        lambda: train(path, 300, threads=threads, documents=documents),
        lambda: train(path, 300, pattern=r"\w+|\W+", documents=documents),
    ):
        with pytest.raises(UnicodeDecodeError) as caught:
            act()
        yield str(caught.value)
    args = ["count", "-e", "r50k_base", "--documents", documents, str(path)]
    result = click_testing.CliRunner().invoke(app, args)
    assert result.exit_code == 1
    yield " ".join(result.stderr.split())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("documents", ["text", "lines", "jsonl"])
@pytest.mark.parametrize("encoding", CASES)
def test_the_message_says_how_to_convert(enc, tmp_path, encoding, documents, threads):
    path = tmp_path / "in.txt"
    text = "".join(f'{{"text": "{line}"}}\n' for line in TEXT.splitlines()) if documents == "jsonl" else TEXT
    path.write_bytes(text.encode(encoding))
    for message in refused(enc, path, threads, documents):
        assert CASES[encoding] in message and "in.txt" in message and len(message) < 600


def test_what_looks_like_nothing_known_gets_the_plain_advice(enc, tmp_path):
    path = tmp_path / "in.txt"
    for data in (b"words \xe2\x28\xa1 words", b"words \xff\xff\xff", b"words, and the end \xf0\x9f"):
        path.write_bytes(data)
        for message in refused(enc, path):
            assert "replace" in message and "U+FFFD" in message
            assert "iconv" not in message or data[6] == 0xE2
