"""The calls that are interrupted: rows for each class that keeps a state. A new class is a few rows more."""

from __future__ import annotations

import asyncio
import copy
import functools
import importlib.util
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import oracle
from interrupted import Row
from interrupted_encodings import END, OWN_PATTERN, TEXT, encodings, of_own_pattern, of_words, record_of_characters
from interrupted_files import file_rows
from interrupted_gpu import SMALL as SMALL_GPU
from interrupted_gpu import gpu_rows
from interrupted_serving import cache_rows, session_rows
from interrupted_threads import SMALL as SMALL_PARTS
from interrupted_threads import thread_rows, training_rows

import streamtok
from streamtok import registry
from streamtok.gpu.stream import AutoStream, GpuStream
from streamtok.patterns.splitter import PatternSplitter
from streamtok.serving import MicroBatcher, marks

SMALL: list[tuple[Any, str, Any]] = [(marks, "STEP", 256), *SMALL_GPU, *SMALL_PARTS]
"""As there; and texts have marks."""


# ==== Streams ====


def stream_future(stream: Any) -> object:
    """What a stream gives from here on, for this text and for another one."""
    found: list[object] = [stream.pending, stream.offset]
    for step in (lambda: stream.feed(" and so on"), stream.flush, lambda: stream.feed("abc ab"), stream.flush):
        try:
            found.append(step().tolist())
        except UnicodeDecodeError as error:  # a character was cut before the call
            found.append(str(error))
    return found


def _stream_rows(name: str, new: Callable[[], Any]) -> list[Row]:
    def begun(chunks: tuple[Any, ...] = (TEXT[:150], "an open wor\ud83d")) -> Any:
        stream = new()
        for chunk in chunks:
            stream.feed(chunk)
        return stream

    at_bytes = functools.partial(begun, (TEXT.encode()[:200], "caf é".encode()[:-1]))
    other = begun((TEXT[:80],))
    calls: list[tuple[str, Callable[[], Any], Callable[[Any], object]]] = [
        ("feed of the first str", new, lambda stream: stream.feed(TEXT)),
        ("feed of str", begun, lambda stream: stream.feed("\udd10 " + TEXT)),
        ("feed of bytes", at_bytes, lambda stream: stream.feed(b"\xa9" + TEXT.encode())),
        ("flush", begun, lambda stream: stream.flush()),
        ("reset", begun, lambda stream: stream.reset()),
        ("copy", begun, lambda stream: stream.copy()),
    ]
    if hasattr(other, "getstate"):
        state = other.getstate()
        calls.append(("setstate", begun, lambda stream: stream.setstate(state)))
        calls.append(("pickle", begun, pickle.dumps))
    else:
        saved = other.save()
        calls.append(("load", begun, lambda stream: stream.load(saved)))
    return [Row(f"{name}: {what}", make, call, stream_future) for what, make, call in calls]


def stream_rows() -> list[Row]:
    rows: list[Row] = []
    for name, enc in encodings().items():
        rows += _stream_rows(f"StreamEncoder, {name}", functools.partial(enc.stream_encoder, {END}, ()))
    words, own, core = of_words(), of_own_pattern(), oracle.ours("o200k_base")
    rows += _stream_rows(
        "StreamEncoder, in_template", functools.partial(words.stream_encoder, (), (), add_special_tokens=True)
    )
    names = core._matchers_for({END}, ())
    for kind in (GpuStream, AutoStream):
        rows += _stream_rows(kind.__name__, functools.partial(kind, core, core._coder, names, "strict", True))
    text = f"{TEXT[:100]}{END}{TEXT[100:]}{END} ab"
    new = functools.partial(own.stream_encoder, {END}, ())
    rows.append(Row("StreamEncoder, regex: feed with names", new, lambda stream: stream.feed(text), stream_future))
    splitter = PatternSplitter(OWN_PATTERN)

    def split() -> Any:
        stream = splitter.stream()
        stream.feed(TEXT[:50])
        return stream

    def split_future(stream: Any) -> object:
        made = [stream.feed("b ab"), stream.flush(), stream.feed("ab ab b"), stream.flush()]
        return [(text, spans.tolist()) for text, spans in made]

    rows.append(Row("PatternStream: feed", split, lambda stream: stream.feed("abb " * 30), split_future))
    rows.append(Row("PatternStream: flush", split, lambda stream: stream.flush(), split_future))
    return rows


# ==== Decoders ====


def _ids(enc: Any) -> list[int]:
    return enc.encode(" a bc é中 abc\u00e9 d☕", disallowed_special=())


def decoder_rows() -> list[Row]:
    rows = []
    for name in ("bytes", "characters", "WordPiece"):
        enc = encodings()[name]
        ids = _ids(enc)
        half = len(ids) // 2

        def begun(enc: Any = enc, ids: list[int] = ids[:half]) -> Any:
            decoder = enc.stream_decoder()
            for token in ids:
                decoder.feed(token)
            return decoder

        def future(decoder: Any, ids: list[int] = ids) -> object:
            parts = [decoder.pending, *(decoder.feed(token) for token in ids), decoder.flush()]
            return [*parts, decoder.feed(ids), decoder.flush()]

        state = begun(ids=ids[: half - 1])._core.getstate()
        calls: dict[str, Callable[[Any], object]] = {
            "feed": lambda decoder, token=ids[half]: decoder.feed(token),
            "feed of a row": lambda decoder, rest=ids[half:]: decoder.feed(rest),
            "flush": lambda decoder: decoder.flush(),
            "reset": lambda decoder: decoder.reset(),
            "copy": lambda decoder: decoder.copy(),
            "setstate": lambda decoder, state=state: decoder._core.setstate(state),
        }
        rows += [Row(f"StreamDecoder, {name}: {what}", begun, call, future) for what, call in calls.items()]
        rows += _batch_rows(name, enc, ids)
    return rows


def _batch_rows(name: str, enc: Any, ids: list[int]) -> list[Row]:
    half = len(ids) // 2

    def begun() -> Any:
        decoder = enc.batch_decoder(3)
        decoder.reset(0, stop=["bc", "é中 abq"])
        decoder.reset(1, stop="zzz")
        for token in ids[:half]:
            decoder.feed([0, 1, 2], [token] * 3)
        return decoder

    def future(decoder: Any) -> object:
        found: list[object] = [decoder.pending(slot) for slot in range(3)]
        found += [decoder.stop_of(slot) for slot in range(3)]
        for token in ids[half - 2 :]:
            found.append(decoder.feed([2, 0, 1], [token] * 3))
        found += [decoder.flush(slot) for slot in range(3)]
        found += [decoder.stop_of(slot) for slot in range(3)]
        decoder.reset(1, stop="d")
        return [*found, decoder.feed([1], [ids]), decoder.stop_of(1), decoder.stopped]

    other = begun()
    other.reset(2, stop=["d", "xy"])
    other.feed([2], [ids[:-1]])
    states = [other.getstate(slot) for slot in range(3)]
    calls: dict[str, Callable[[Any], object]] = {
        "feed": lambda decoder: decoder.feed([0, 1, 0, 2], [ids[half]] * 4),
        "feed of rows": lambda decoder: decoder.feed([2, 1], [ids[half:]] * 2),
        "flush": lambda decoder: decoder.flush(1),
        "reset": lambda decoder: decoder.reset(1, stop=["ab", "d"]),
        "reset without": lambda decoder: decoder.reset(0),
        "setstate": lambda decoder: decoder.setstate(0, states[2]),
        "setstate of a slot without stops": lambda decoder: decoder.setstate(2, states[0]),
        "getstate": lambda decoder: decoder.getstate(0),
    }
    return [Row(f"BatchDecoder, {name}: {what}", begun, call, future) for what, call in calls.items()]


def check_rows() -> list[Row]:
    enc = oracle.ours("cl100k_base")
    ids = enc.encode(TEXT)

    def begun() -> Any:
        check = enc.canonical_check()
        check.feed(ids[:20])
        return check

    def future(check: Any) -> object:
        found = [check.difference, check.feed(ids[40:60]), check.finish()]
        return [*found, check.feed(ids), check.finish()]

    broken = enc.encode("☕")[:1] * 2
    calls: dict[str, Callable[[Any], object]] = {
        "feed": lambda check: check.feed(ids[20:40]),
        "feed of no text": lambda check: check.feed(ids[20:30] + broken),
        "feed of others": lambda check: check.feed(ids[22:40]),
        "finish": lambda check: check.finish(),
    }
    return [Row(f"CanonicalCheck: {what}", begun, call, future) for what, call in calls.items()]


# ==== Encodings, tables, registries ====


def elsewhere(function: Callable[[], object]) -> object:
    """What a function returns on another thread, where it must not wait for a lock that nobody gives back."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    thread.join(3)
    return found[0] if found else "blocked"


def encoding_rows() -> list[Row]:
    ranks = {token: rank for token, rank in oracle.ours("r50k_base")._mergeable_ranks.items() if rank < 400}

    def small() -> Any:
        return streamtok.Encoding(
            "few", pat_str=streamtok.patterns.R50K, mergeable_ranks=ranks, special_tokens={END: 400}
        )

    def future(enc: Any) -> object:
        def ask() -> object:
            table = enc.token_table()
            twin = pickle.loads(pickle.dumps(enc))
            texts = [enc.encode(TEXT, allowed_special={END}), twin.encode(TEXT), list(twin.stream_encoder().feed(TEXT))]
            found = enc.completions(text="the s")
            return [*texts, table.strs, enc.fingerprint, found.keep, found.prefix, found.tokens.tolist()]

        return elsewhere(ask)

    calls: dict[str, Callable[[Any], object]] = {
        "token_table": lambda enc: enc.token_table(),
        "completions": lambda enc: enc.completions(text="the s"),
        "fingerprint": lambda enc: enc.fingerprint,
        "names of special tokens": lambda enc: enc.encode("a", allowed_special={END}),
        "another mode of errors": lambda enc: enc.encode_to_numpy(b"\xff", errors="replace"),
        "pickle": lambda enc: pickle.loads(pickle.dumps(enc)),
        "copy": copy.copy,
        "stream_encoder": lambda enc: enc.stream_encoder().getstate(),
    }
    rows = [Row(f"Encoding: {what}", small, call, future, 60) for what, call in calls.items()]

    kept = streamtok.get_encoding("p50k_edit")

    def forgotten() -> None:
        registry.ENCODINGS.pop("p50k_edit", None)
        registry._plugins = None

    def registered(_: None) -> object:
        names = elsewhere(registry.list_encoding_names)
        enc: Any = elsewhere(lambda: streamtok.get_encoding("p50k_edit"))
        found = names, enc.encode("a text"), enc is streamtok.get_encoding("p50k_edit"), elsewhere(enc.__reduce__)
        registry.ENCODINGS["p50k_edit"] = kept  # which other tests have
        return found

    rows.append(Row("get_encoding", forgotten, lambda _: streamtok.get_encoding("p50k_edit"), registered, 60))
    rows.append(Row("list_encoding_names", forgotten, lambda _: registry.list_encoding_names(), registered, 60))
    return rows


# ==== Calls of asyncio tasks ====


def batcher_rows() -> list[Row]:
    enc = oracle.ours("cl100k_base")

    def begun() -> Any:
        loop, batcher = asyncio.new_event_loop(), MicroBatcher(enc, max_waiting_bytes=300)
        loop.set_exception_handler(lambda *_: None)  # it prints what was raised in a task that nobody waits for
        assert loop.run_until_complete(batcher.count("hello world")) == 2
        return loop, batcher

    async def several(batcher: MicroBatcher) -> object:
        calls = [batcher.encode("a" * size) for size in (10, 100, 200, 10)]
        return await asyncio.gather(*calls, batcher.decode([1, 2, 3]), batcher.count("a b"), return_exceptions=True)

    async def cancelled(batcher: MicroBatcher) -> None:
        calls = [asyncio.create_task(batcher.encode("a" * size)) for size in (10, 100, 200, 10)]
        await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.wait(calls)

    async def rest(batcher: MicroBatcher) -> object:
        found = [(await asyncio.wait_for(batcher.encode("hello world"), 10)).tolist()]
        await asyncio.wait_for(batcher.aclose(), 10)
        return [*found, batcher._held, batcher._waiting_bytes]

    def future(made: Any) -> object:
        loop, batcher = made
        try:
            return loop.run_until_complete(rest(batcher))
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    return [
        Row("MicroBatcher: calls", begun, lambda made: made[0].run_until_complete(several(made[1])), future, 100, True),
        Row(
            "MicroBatcher: cancelled",
            begun,
            lambda made: made[0].run_until_complete(cancelled(made[1])),
            future,
            50,
            True,
        ),
    ]


# ==== In other libraries ====


def tokenizers_rows() -> list[Row]:
    """Where the package tokenizers is installed."""
    if importlib.util.find_spec("tokenizers") is None:
        return []
    from streamtok.integrations.late import backend_lock
    from streamtok.integrations.tokenizers import Tokenizer

    record = json.dumps(record_of_characters())
    shared = Tokenizer.from_str(record)
    ids = shared.encode(" a bc é中 abc").ids

    def made(tokenizer: Any) -> object:
        def ask() -> object:
            found = tokenizer.encode("a bc é")
            with backend_lock():
                settings = tokenizer.truncation, tokenizer.padding
            return found.ids, found.tokens, tokenizer.decode(ids), settings

        return elsewhere(ask)

    def cut() -> Any:
        tokenizer = Tokenizer.from_str(record)
        tokenizer.enable_truncation(4)
        tokenizer.enable_padding(length=6)
        return tokenizer, tokenizer.encode_batch(["a bc", "a"])

    def late(both: Any) -> object:
        both[0].no_padding()
        return both[1][0].tokens, elsewhere(lambda: made(both[0]))

    def tokens(both: Any) -> object:
        both[0].no_padding()
        return both[1][0].tokens

    calls: dict[str, Callable[[Any], object]] = {
        "encode": lambda tokenizer: tokenizer.encode("bc a").tokens,
        "encode_batch": lambda tokenizer: tokenizer.encode_batch(["bc a", "c"]),
        "encode of what is not served": lambda tokenizer: tokenizer.encode(["bc", "a"], is_pretokenized=True),
        "decode": lambda tokenizer: tokenizer.decode(ids),
    }
    rows = [
        Row(f"tokenizers.Tokenizer: {what}", functools.partial(Tokenizer.from_str, record), call, made, 60)
        for what, call in calls.items()
    ]
    rows.append(Row("tokenizers.Tokenizer: late tokens", cut, tokens, late, 60))
    rows += _stream_of_ids_rows(shared, ids)
    return rows


def _stream_of_ids_rows(shared: Any, ids: list[int]) -> list[Row]:
    from streamtok.integrations.tokenizers import DecodeStream

    def begun() -> Any:
        stream = DecodeStream(ids[:3])
        for token in ids[3:7]:
            stream.step(shared, token)
        return stream

    def rest(stream: Any) -> object:
        found = []
        for token in ids[7:]:
            for each in (copy.copy(stream), stream):
                try:
                    found.append(each.step(shared, token))
                except Exception as error:  # text that more bytes have changed
                    found.append(str(error))
        return found

    rows = []
    for what, given in (("step", ids[7]), ("step of several", ids[7:10])):
        step = functools.partial(DecodeStream.step, tokenizer=shared, id=given)
        rows.append(Row(f"tokenizers.DecodeStream: {what}", begun, step, rest))
    return rows


GROUPS: dict[str, Callable[[], list[Row]]] = {
    "streams": stream_rows,
    "sessions": session_rows,
    "caches": cache_rows,
    "decoders": decoder_rows,
    "batchers": batcher_rows,
    "checks": check_rows,
    "encodings": encoding_rows,
    "other libraries": tokenizers_rows,
    "files": file_rows,
    "threads": thread_rows,
    "training": training_rows,
    "devices": gpu_rows,
}
