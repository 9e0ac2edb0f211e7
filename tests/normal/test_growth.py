"""How much a normalizer may make of a text: the bound is true of all characters; memory and signals behind it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from streamtok import Encoding
from streamtok.native import normal
from streamtok.native.normal import MOST_GROWTH, Normalizer

CHARACTERS = [chr(code) for code in (*range(10), *range(11, 0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE1000))]
"""Without planes of which no character changes."""


def growth_of_characters(step: tuple[object, ...]) -> float:
    """Bytes that a step makes of one byte, of the character that grows most."""
    made = Normalizer([step]).normalize("\n".join(CHARACTERS)).split("\n")
    assert len(made) == len(CHARACTERS)
    return max(len(new.encode()) / len(old.encode()) for old, new in zip(CHARACTERS, made))


@pytest.mark.parametrize("name", normal.GROWTH)
def test_no_character_grows_more_than_its_step_says(name):
    arguments = (True, True) if name == "Strip" else ()
    found = growth_of_characters((name, *arguments)) if name != "Strip" else 1.0
    assert found == normal.GROWTH[name]


def test_blanks_around_ideographs_are_counted():
    step = ("Clean", False, True, False)
    assert Normalizer([step]).growth == growth_of_characters(step) == 5 / 3


@pytest.mark.parametrize(
    "steps, growth",
    [
        ([], 1),
        ([("Replace", "aa", "bbb")], 1.5),
        ([("Replace", "aaa", "b")], 1),
        ([("ReplaceClass", ((0x61, 0x7A), (0x4E00, 0x9FFF)), "bbb", True)], 3),
        ([("ReplaceClass", ((0x4E00, 0x9FFF),), "bbb", False)], 1),
        ([("Prepend", "▁"), ("Replace", " ", "▁")], 12),
        ([("NFKC",), ("Lowercase",), ("Replace", " ", "▁"), ("PrependUnless", "▁", True)], 52.5),
        ([("Replace", "a", "aaaa")] * 5, 1024),
        ([("NFD",), ("Strip", True, True), ("NFKC",), ("StripAccents",), ("NFC",)] * 3, 11),
        ([("NFKC",), ("Lowercase",), ("NFKC",)], 181.5),
    ],
)
def test_steps_multiply(steps, growth):
    normalizer = Normalizer(steps)
    assert normalizer.growth == growth
    for text in ("a", "aa", "\ufdfa", " ", "a a"):
        assert len(normalizer.normalize(text).encode()) <= growth * len(text.encode())


@pytest.mark.parametrize(
    "steps, message",
    [
        (
            [("Replace", "a", "aaaa")] * 16,
            r"with step 6, Replace \(4\.0 times as many\), one byte .* become 4096 bytes",
        ),
        ([("NFC",), ("Prepend", "a" * 2000)], r"with step 2, Prepend \(2000 bytes more\)"),
        ([("ReplaceClass", ((0x61, 0x62),), "b" * 1025, False)], r"with step 1, ReplaceClass"),
    ],
)
def test_a_normalizer_that_makes_more_is_refused(steps, message):
    for make in (
        Normalizer,
        lambda steps: Encoding("x", normalizer=steps, pat_str=None, mergeable_ranks={}, special_tokens={}),
    ):
        with pytest.raises(ValueError, match=rf"{message}.*; at most {MOST_GROWTH} are supported"):
            make(steps)


VANISHING = [("Replace", "a", "b" * 1000), ("Replace", "bbbb", "")]


def test_text_that_a_later_step_drops_takes_no_memory():
    code = (
        "import resource, sys; from streamtok.native.normal import Normalizer\n"
        f"normalizer, text = Normalizer({VANISHING!r}), 'a' * 60_000\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert normalizer.normalize(text) == ''\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    pytest.importorskip("resource", reason="memory is measured with the module resource")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < (16 << 20 if sys.platform == "darwin" else 16 << 10)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that sends a signal")
@pytest.mark.parametrize(
    "steps", [VANISHING, [("Replace", "a", "")] * 4, [("NFD",), ("Replace", "a", "b" * 300), ("Replace", "bbbb", "")]]
)
def test_a_signal_is_heard_while_steps_drop_what_others_make(steps):
    text = "a" * (3_000_000 if len(steps) == 4 else 1_000_000)
    heard: list[float] = []

    def ring(number: int, frame: object) -> None:
        heard.append(time.monotonic())
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    normalizer = Normalizer(steps)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        with pytest.raises(TimeoutError):
            for _ in range(100):
                normalizer.normalize(text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard and heard[0] - began < 2  # alone on a machine it is heard after 0.1 s


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_a_text_is_taken_in_slices_without_a_difference(form):
    """A megabyte is the size of a slice: characters and runs of marks lie across its end."""
    for tail in ("e\u0301\u0300x", "\uac00\u11a8", "é", "中", "a", "\u0301" * 300):
        for lead in range((1 << 20) - 5, (1 << 20) + 2):
            text = "a" * lead + tail + "b\u0301" * 4
            steps = Normalizer([(form,)])
            assert steps.normalize(text) == "a" * (lead - 1) + steps.normalize(text[lead - 1 :])
