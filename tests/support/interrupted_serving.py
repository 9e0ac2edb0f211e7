"""The calls of sessions and caches that are interrupted."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

from interrupted import Row
from interrupted_encodings import TEXT, encodings

import streamtok

# ==== Sessions ====


def session_future(session: Any) -> object:
    found = [session.ids.tolist(), session.text, session.size, session.text_offsets.tolist()]
    for change in (
        lambda: session.append(" and more"),
        lambda: session.replace(8, 12, "other words"),
        lambda: session.copy().append("x"),
    ):
        splice = change()
        found += [splice.keep, splice.ids.tolist(), splice.same, session.ids.tolist()]
    return found


def session_rows() -> list[Row]:
    rows = []
    sessions_of = encodings() | {"longest match": None}  # the same class of stream as that of bytes
    text = "".join(each if each.isascii() else "x" for each in TEXT * 2)
    calls: dict[str, Callable[[Any], object]] = {
        "append": lambda session: session.append(" some more text, and more"),
        "append of much": lambda session: session.append(text),
        "replace": lambda session: session.replace(20, 25, "somewhat"),
        "replace at the end": lambda session: session.replace(400, 410, text[:300]),
        "update": lambda session: session.update(text[:250] + "abc" + text[250:]),
        "truncate": lambda session: session.truncate(40),
        "copy": lambda session: session.copy(),
        "pickle": pickle.dumps,
    }
    for name, enc in sessions_of.items():
        if enc is None:
            continue

        def own(enc: Any = enc) -> Any:
            session = enc.session(text[:300], allowed_special=set(), disallowed_special=())
            session.append(text[300:])
            return session

        def branch(enc: Any = enc) -> Any:
            return own(enc).copy()

        for what, call in calls.items():
            rows.append(Row(f"Session, {name}: {what}", own, call, session_future))
        rows.append(Row(f"Session, {name}: append to a copy", branch, calls["append"], session_future))

        def both(enc: Any = enc) -> Any:
            session = own(enc)
            return session, session.copy()

        def both_futures(pair: Any) -> object:
            return [session_future(each) for each in pair]

        rows.append(
            Row(f"Session, {name}: append, seen by a copy", both, lambda pair: pair[0].append(" xyz"), both_futures)
        )
    return rows


# ==== Caches ====


def cache_future(cache: Any) -> object:
    """The ids of texts that go on with those that are there, however many that are."""
    texts = (TEXT * 3, TEXT * 2 + "x" * 300, "other " * 100 + TEXT, TEXT[:40])
    found = [cache.encode(text, disallowed_special=()) for text in (*texts, *texts)]
    stats = cache.stats()
    cache.clear()
    return [*found, stats.entries > 0, 0 < stats.bytes <= cache.max_bytes, cache.stats()[3:]]


def cache_rows() -> list[Row]:
    rows = []
    for name in ("bytes", "characters", "WordPiece"):
        enc = encodings()[name]

        def begun(enc: Any = enc, room: int = 1 << 20) -> Any:
            cache = streamtok.PrefixCache(enc, max_bytes=room)
            for text in (TEXT * 2, TEXT + "y" * 400, "other " * 90):
                cache.encode(text, disallowed_special=())
            return cache

        calls: dict[str, Callable[[Any], object]] = {
            "encode": lambda cache: cache.encode(TEXT * 2 + " more", disallowed_special=()),
            "encode of what is new": lambda cache: cache.encode("new " + TEXT, disallowed_special=(), salt="s"),
            "encode_to_numpy of bytes": lambda cache: cache.encode_to_numpy((TEXT * 3).encode(), allowed_special="all"),
            "clear": lambda cache: cache.clear(),
            "pickle": pickle.dumps,
        }
        rows += [Row(f"PrefixCache, {name}: {what}", begun, call, cache_future) for what, call in calls.items()]
        little = functools.partial(begun, room=3_000)
        rows.append(Row(f"PrefixCache, {name}: encode with little room", little, calls["encode"], cache_future))
    return rows
