"""The string in a long JSON line is the one that Python's parser finds, in bounded memory."""

import json
import os
import pathlib
import random
import subprocess
import sys

import numpy as np
import pytest

import streamtok
from streamtok.files import encode_file, json_lines
from streamtok.files.json_lines import pieces_at, text_at, text_of_line
from streamtok.train import train

CHARACTERS = [
    '"',
    "\\",
    "/",
    "\n",
    "\t",
    "\x01",
    "é",
    "日",
    "😀",
    "\ud83d",
    "\ude00",
    "\ufeff",
    "NaN",
    "-Infinity",
    "a b",
    ":",
    "{",
]


@pytest.fixture
def small(monkeypatch):
    """Lines of a few bytes count as long ones."""
    monkeypatch.setattr(json_lines, "_LONG_STRING", 5)
    monkeypatch.setattr(json_lines, "_PIECE", 16)
    monkeypatch.setattr(json_lines, "_BLOCK", 2)


def random_string(rng):
    text = "".join(rng.choices(CHARACTERS, k=rng.choice((0, 1, 3, 12, 40))))
    return json.dumps(text, ensure_ascii=rng.random() < 0.5) if rng.random() < 0.9 else f'"{"".join(CHARACTERS[6:9])}"'


def random_value(rng, depth=0):
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind < 4:
        return random_string(rng)
    if kind < 7:
        return rng.choice(("1", "-2.5e3", "NaN", "Infinity", "-Infinity", "true", "null", "[]", "{}"))
    if kind == 7:
        return "[" + ", ".join(random_value(rng, depth + 1) for _ in range(rng.randrange(4))) + "]"
    return random_object(rng, depth + 1)


def random_object(rng, depth=0):
    names = ['"text"', '"text"', '"a"', '"\\u0074ext"', random_string(rng), '"a long key, longer than a string"']
    pairs = [
        rng.choice(names) + rng.choice(("", " ")) + ": " + random_value(rng, depth) for _ in range(rng.randrange(5))
    ]
    return "{" + ", ".join(pairs) + "}"


def random_line(rng):
    line = rng.choice(("", "", "", "\ufeff", " ")) + random_object(rng) + rng.choice(("", "\r", " "))
    data = bytearray(line.encode("utf-8", "surrogatepass" if rng.random() < 0.1 else "replace"))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        at = rng.randrange(len(data) + 1)
        act = rng.randrange(3)
        if act == 0:
            data[at:at] = rng.choice((b'"', b"\\", b"\xff", b"\xf0\x9f", b",", b"\\u12", b"NaN"))
        elif act == 1:
            del data[at : at + rng.randrange(1, 4)]
        else:
            del data[at:]
    return bytes(data).replace(b"\n", b" ")


def outcome(act):
    try:
        return act()
    except UnicodeDecodeError as error:
        return UnicodeDecodeError, error.start, error.end, error.reason
    except ValueError as error:
        return ValueError, str(error).split("(")[0].split("' is ")[0]  # without the place and the value


def whole(line, errors, is_first):
    text = line.decode("utf-8", errors)
    text = text.removeprefix("\ufeff") if is_first else text
    return text_at("text", text) if text.strip() else None


def by_pieces(parts, errors, is_first):
    pieces = pieces_at("text", parts, errors, is_first=is_first)
    return None if pieces is None else "".join(pieces)


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_pieces_and_short_lines_are_what_the_parser_finds(small, errors):
    rng = random.Random(errors)
    found = dict.fromkeys((str, tuple, type(None)), 0)
    for _ in range(8000):
        line = random_line(rng) if rng.random() < 0.98 else rng.choice((b"", b" \t\r", b"\xef\xbb\xbf ", b"\xc2\xa0"))
        cuts = sorted(rng.choices(range(len(line) + 1), k=rng.choice((0, 1, 5))))
        parts = [line[a:b] for a, b in zip([0, *cuts], [*cuts, len(line)])]
        is_first = rng.random() < 0.5
        want = outcome(lambda: whole(line, errors, is_first))  # noqa: B023
        got = outcome(lambda: by_pieces(parts, errors, is_first))  # noqa: B023
        at_once = outcome(lambda: text_of_line("text", line, errors, is_first=is_first))  # noqa: B023
        assert got == at_once == want, line
        found[type(want)] += 1
    assert min(found.values()) > 20 and found[str] > 500


def test_pieces_end_in_no_pair_of_surrogates_and_hold_no_more_than_they_should(small):
    text = 'a😀\\"é\ud83d日\ude00' * 30
    for ascii_only in (True, False):
        line = json.dumps({"text": text}, ensure_ascii=ascii_only).encode(
            "utf-8", "surrogatepass" if ascii_only else "replace"
        )
        pieces = list(pieces_at("text", [line], "strict"))
        assert "".join(pieces) == json.loads(line)["text"] and max(map(len, pieces)) <= 16 and len(pieces) > 20


@pytest.mark.parametrize("threads", [1, 2])
def test_long_lines_among_short_ones(tmp_path, monkeypatch, threads):
    enc = streamtok.get_encoding("r50k_base")
    monkeypatch.setattr("streamtok.files.readers.LONG", 400)
    monkeypatch.setattr(json_lines, "_LONG_STRING", 50)
    monkeypatch.setattr(json_lines, "_PIECE", 100)
    rng = random.Random(8)
    texts = ["".join(rng.choices(CHARACTERS, k=rng.choice((0, 3, 30, 300)))) for _ in range(60)]
    lines = [
        json.dumps({"text": text, "n": 5}, ensure_ascii=i % 2 > 0 or not text.isprintable())
        for i, text in enumerate(texts)
    ]
    path = tmp_path / "in.jsonl"
    path.write_bytes(("\ufeff" + "\n".join(lines[:30]) + "\n\n" + "\n".join(lines[30:])).encode("utf-8", "replace"))
    loaded = [json.loads(line.encode("utf-8", "replace")) for line in lines]
    want = [token for each in loaded for token in [*enc.encode_ordinary(each["text"]), enc.eot_token]]
    for chunk_size in (64, 1000, 1 << 20):
        done = encode_file(enc, path, tmp_path / "out.bin", append_eot=True, chunk_size=chunk_size, num_threads=threads)
        assert np.fromfile(tmp_path / "out.bin", "<u2").tolist() == want and done.documents == len(texts)
    plain = train(iter([each["text"] for each in loaded]), 300, pattern="r50k")
    for chunk in (100, 1 << 20):
        monkeypatch.setattr("streamtok.train.inputs.CHUNK", chunk)
        assert train(path, 300, pattern="r50k", threads=threads)._mergeable_ranks == plain._mergeable_ranks


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            b'{"text": "%s", "a": }' % (b"x" * 500),
            "line 2: not a JSON object .*byte 518 of the line.*documents='lines'",
        ),
        (b'{"text": "%s\x01"}' % (b"x" * 500), "line 2: not a JSON object .*Invalid control character"),
        (b'{"other": "%s"}' % (b"x" * 500), r"line 2: the object has no 'text', its keys are \['other'\]"),
        (b'{"text": ["%s"]}' % (b"x" * 500), r"line 2: the value of 'text' is \['...'\], a string is needed"),
        (b'{"text": "%s\xff"}' % (b"x" * 500), "0xff in position 510: .*line 2; errors='replace'"),
        (b'{"text": "%s' % (b"x" * 500), "line 2: not a JSON object .*Unterminated string"),
    ],
)
def test_a_long_line_that_is_refused_is_named_in_few_words(tmp_path, monkeypatch, line, complaint):
    monkeypatch.setattr("streamtok.files.readers.LONG", 400)
    monkeypatch.setattr(json_lines, "_LONG_STRING", 50)
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "fine"}\n' + line + b"\n")
    enc = streamtok.get_encoding("r50k_base")
    for act in (lambda: encode_file(enc, path, tmp_path / "out.bin"), lambda: train(path, 300)):
        with pytest.raises(ValueError, match=complaint) as caught:
            act()
        assert len(str(caught.value)) < 500


_PEAK = """
import sys, streamtok
from streamtok.files import encode_file
from streamtok.train import train
enc = streamtok.get_encoding("r50k_base")

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10

def work(path):
    if sys.argv[3] == "encode":
        return encode_file(enc, path, sys.argv[1] + ".bin").ids
    return train(path, 300, threads=1).n_vocab

work(sys.argv[1])
loaded = peak()
assert work(sys.argv[2]) > 256
print(peak() - loaded)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("command", ["encode", "train"])
def test_a_line_of_24_mb_takes_less_than_three_times_its_size(tmp_path, command):
    unit = 'some words and more of them: "quoted", 日本語\n'
    with open(tmp_path / "large.jsonl", "w", encoding="utf-8") as file:
        json.dump(
            {"meta": {"n": 1}, "text": unit * (24 * 10**6 // len(unit.encode()) - 1) + "😀"}, file, ensure_ascii=False
        )
    (tmp_path / "small.jsonl").write_text('{"text": "%s"}\n' % ("some words " * 200_000))
    paths = os.pathsep.join(path for path in [str(pathlib.Path(streamtok.__file__).parents[1]), *sys.path] if path)
    arguments = [sys.executable, "-c", _PEAK, "small.jsonl", "large.jsonl", command]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) < 3 * 24
