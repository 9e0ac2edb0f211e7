"""Encodings of tokenizers that are made at their first use."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from streamtok.integrations.late import LateEncodings, Settings


class Backend:
    """What is used of a tokenizers.Tokenizer."""

    truncation = padding = None
    encode_special_tokens = False

    def no_truncation(self) -> None: ...

    def no_padding(self) -> None: ...

    def encode_batch(self, inputs):
        return [[each] for each in inputs]


def test_threads_that_are_the_first_to_ask_get_the_same_objects():
    """Who was given an encoding may have changed it."""
    barrier = threading.Barrier(4)

    class Engine:
        def original(self, owner):
            barrier.wait(30)  # all of them have seen that nothing is made yet
            return Backend()

    encodings = LateEncodings(Engine(), {}, ["a", "b"], Settings(None, None, False), {})
    with ThreadPoolExecutor(4) as pool:
        firsts = list(pool.map(lambda _: encodings[0], range(4)))
    assert firsts[0] == ["a"] and all(first is firsts[0] for first in firsts)
