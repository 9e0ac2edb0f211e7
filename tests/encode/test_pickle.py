"""Pickles of encodings and streams: small if a name is enough, and one object a process for each encoding."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import pickletools
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref

import oracle
import pytest

import streamtok
from streamtok import _identity as identity
from streamtok import patterns
from streamtok.train import train

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
RANKS = {bytes([value]): value for value in range(256)} | {b"ab": 256, "中".encode(): 257}


def toy(name="toy", **changes):
    arguments = {"pat_str": patterns.CL100K, "mergeable_ranks": dict(RANKS), "special_tokens": {"<x>": 300}} | changes
    return streamtok.Encoding(name, **arguments)


def trips(value, times=3):
    """The value after so many pickles, and their sizes."""
    sizes = []
    for protocol in [*PROTOCOLS] * times:
        data = pickle.dumps(value, protocol)
        sizes.append(len(data))
        value = pickle.loads(data)
    return value, sizes


def elsewhere(value, code, *paths):
    """What a fresh interpreter prints that has unpickled the value as `value`."""
    code = f"import pickle, sys\nsys.path[:0] = {[str(path) for path in paths]!r}\n" + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(value), capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode().split()


def named_in(value):
    """What a pickle of the value looks up, as "module name"."""
    operations = pickletools.genops(pickle.dumps(value, 2))
    return {argument for operation, argument, _ in operations if operation.name == "GLOBAL"}


@pytest.mark.parametrize("pattern", [patterns.CL100K, r"\w+|\W+"])
def test_a_pickle_names_only_what_stays_where_it_is(pattern):
    """Other modules may move, and old pickles have to stay readable."""
    enc = toy(pat_str=pattern)
    stream = enc.stream_encoder()
    stream.feed("ab")
    trained = train(b"some words, some more words", 260, pattern=pattern)
    kept = [enc, stream, enc.stream_decoder(), trained, streamtok.get_encoding("r50k_base").stream_encoder()]
    ours = {name for value in kept for name in named_in(value) if name.startswith("streamtok")}
    assert ours == {
        "streamtok.core Encoding",
        "streamtok.identity _by_name",
        "streamtok.identity _revived",
        "streamtok.stream _restore",
        "streamtok.stream _restore_decoder",
        "streamtok.train.encoding TrainedEncoding",
    }


def test_pickle_of_a_stream_does_not_grow(pair):
    _, ours, _ = pair
    stream = ours.stream_encoder(disallowed_special=(), errors="replace")
    left = stream.feed("some text that is cut in\n  ").tolist()
    twin, sizes = trips(stream)
    assert twin.encoding is ours and max(sizes) < 500 and sizes == sizes[: len(PROTOCOLS)] * 3
    assert left + [*twin.feed("  side").tolist(), *twin.flush().tolist()] == ours.encode(
        "some text that is cut in\n    side"
    )
    decoder, sizes = trips(ours.stream_decoder())
    assert decoder.encoding is ours and max(sizes) < 300


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_share_all_tables(enc, copied):
    assert copied(enc) is enc
    for each in (toy(), train(iter(["a b a b"]), 257)):
        twin = copied(each)
        assert type(twin) is type(each) and twin._vocab is each._vocab and twin.encode("ab 中") == each.encode("ab 中")
        assert trips(twin)[0] in (twin, each) and twin.fingerprint == each.fingerprint
        twin.name = "renamed"
        assert each.name != "renamed" and trips(twin)[0].name == "renamed" and trips(each)[0].name == each.name
    stream = enc.stream_encoder()
    assert trips(copied(stream))[0].encoding is enc


def test_encoding_that_was_renamed_is_no_longer_the_one_that_was_pickled():
    enc = toy("before")
    data = pickle.dumps(enc)
    enc.name = "after"
    assert pickle.loads(data).name == "before" and pickle.loads(pickle.dumps(enc)).name == "after"
    assert pickle.loads(data) is pickle.loads(data)


def test_known_encoding_is_the_same_object():
    for each in (toy(), toy(engine="reference"), toy(pat_str=r"\\w+|\\W+"), train(iter(["a b a b"]), 257)):
        assert trips(each)[0] is each
        assert trips(each.stream_encoder())[0].encoding is each


def test_equal_encodings_become_one_and_others_do_not():
    first, second = toy(), toy()
    data = pickle.dumps(second)
    assert pickle.loads(data) is pickle.loads(pickle.dumps(first)) in (first, second)
    others = [
        toy("other"), toy(engine="reference"), toy(pat_str=patterns.R50K), toy(special_tokens={}),
        toy(mergeable_ranks=RANKS | {b"cd": 258}),
    ]  # fmt: skip
    for each in others:
        assert trips(each)[0] is each


def test_encoding_that_was_never_pickled_here_is_found():
    data = pickle.dumps(toy("never"))
    gc.collect()
    mine = toy("never")
    assert pickle.loads(data) is mine


def test_encoding_that_is_gone_is_made_anew_once():
    enc = toy("gone")
    data, gone = pickle.dumps(enc), weakref.ref(enc)
    ids = enc.encode("ab中<x>", allowed_special="all")
    del enc
    gc.collect()
    assert gone() is None  # nothing keeps the object alive
    made = [pickle.loads(data) for _ in range(3)]
    assert made[0] is made[1] is made[2] and made[0].encode("ab中<x>", allowed_special="all") == ids
    assert pickle.loads(pickle.dumps(made[0])) is made[0]


def test_other_process_makes_one_object():
    enc = toy(engine="reference")
    stream = enc.stream_encoder()
    stream.feed("ab中")
    printed = elsewhere(
        [pickle.dumps(enc), pickle.dumps(enc), pickle.dumps(stream)],
        """
        first, second, stream = map(pickle.loads, pickle.load(sys.stdin.buffer))
        print(first is second is stream.encoding, first.encode("ab"), first.fingerprint, first._engine)
        print(pickle.loads(pickle.dumps(stream)).encoding is first)
        """,
    )
    assert printed == ["True", "[256]", enc.fingerprint, "reference", "True"]


def test_bundled_vocabularies_are_pickled_by_name():
    base = oracle.ours("o200k_base")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = [oracle.ours("o200k_base", "reference"), base.without_pattern()]
    for each in others:
        known = trips(each)[0]  # another one, where some test still has one
        assert len(pickle.dumps(each)) < 1000 and known.fingerprint == each.fingerprint and trips(known)[0] is known
    again = streamtok.Encoding(
        "r50k_base",
        pat_str=patterns.R50K,
        mergeable_ranks=oracle.ours("r50k_base")._mergeable_ranks,
        special_tokens={"<|endoftext|>": 50256},
    )
    assert pickle.loads(pickle.dumps(again)) is oracle.ours("r50k_base") and len(pickle.dumps(again)) < 100
    code = """
        import warnings
        warnings.simplefilter("ignore")
        enc = pickle.load(sys.stdin.buffer)
        print(enc.name.split()[-1], enc.encode("hello"))
        """
    for each in others:
        assert elsewhere(each, code) == [each.name.split()[-1], *str(each.encode("hello")).split()]


def test_bundled_name_with_other_tokens_keeps_its_tokens():
    enc = toy("o200k_base")
    assert trips(enc)[0] is enc
    assert elsewhere(enc, "e = pickle.load(sys.stdin.buffer); print(e.n_vocab, e.encode('ab'))") == ["301", "[256]"]


def test_trained_encoding_keeps_its_facts():
    enc = train(iter(["a b a b"]), 257)
    other = train(iter(["a b a b", "a b"]), 257)
    assert enc.fingerprint == other.fingerprint and trips(other)[0] is other and trips(enc)[0] is enc
    code = "enc = pickle.load(sys.stdin.buffer); print(type(enc).__name__, enc.n_vocab, len(enc.training))"
    assert elsewhere(enc, code) == ["TrainedEncoding", "257", str(len(enc.training))]


class Named(streamtok.Encoding):
    """A user's subclass, which may have attributes that streamtok does not know."""

    label = ""

    def __getstate__(self):
        return {**super().__getstate__(), "label": self.label}

    def __setstate__(self, state):
        self.label = state.pop("label")
        super().__setstate__(state)


def test_subclass_of_a_user_is_pickled_as_it_says():
    enc = Named("named", pat_str=patterns.R50K, mergeable_ranks=dict(RANKS), special_tokens={})
    enc.label = "mine"
    for twin in (trips(enc)[0], copy.copy(enc), copy.deepcopy(enc)):
        assert type(twin) is Named and twin is not enc and twin.label == "mine" and twin.encode("ab") == [256]


def test_state_that_tiktoken_wrote_is_taken():
    for state in ("r50k_base", toy().__getstate__()):
        enc = streamtok.Encoding.__new__(streamtok.Encoding)
        enc.__setstate__(state)
        assert enc.decode(enc.encode("ab 中")) == "ab 中"
    twin = streamtok.Encoding.__new__(streamtok.Encoding)
    twin.__setstate__("r50k_base")
    assert len(pickle.dumps(twin)) < 100 and pickle.loads(pickle.dumps(twin)) is oracle.ours("r50k_base")


def test_damaged_pickle_is_refused_and_not_remembered():
    enc = toy("damaged")
    data = pickle.dumps(enc)
    broken = data.replace(b"ab" + "中".encode(), b"cd" + "中".encode())
    assert broken != data
    del enc
    gc.collect()
    with pytest.raises(ValueError, match="the pickled encoding is damaged"):
        pickle.loads(broken)
    assert pickle.loads(data).encode("ab") == [256]


def test_threads_that_unpickle_get_one_object():
    enc = toy("threads")
    data = pickle.dumps(enc)
    del enc
    gc.collect()
    start, found = threading.Barrier(8), []

    def load():
        start.wait()
        found.append(pickle.loads(data))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1


def in_child(pickled, ids, results):
    stream = pickle.loads(pickled)
    results.put(([*stream.feed("b中").tolist(), *stream.flush().tolist()] == ids, len(pickle.dumps(stream))))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_streams_go_to_other_processes(method):
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    for enc in (oracle.ours("cl100k_base"), toy()):
        stream = enc.stream_encoder()
        before = stream.feed("a").tolist()
        pickled = pickle.dumps(stream)
        child = context.Process(target=in_child, args=(pickled, enc.encode("ab中")[len(before) :], results))
        child.start()
        well, size = results.get()
        child.join()
        assert well and abs(size - len(pickled)) < 40


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_child_of_a_fork_does_not_wait_for_a_thread_of_its_parent():
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    data = pickle.dumps(oracle.ours("cl100k_base").stream_encoder())
    held, release = threading.Event(), threading.Event()

    def hold():
        with identity._lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = context.Process(target=make_in_child, args=(data, results))
    child.start()
    child.join(30)
    release.set()
    thread.join()
    assert child.exitcode == 0 and results.get() == [256]


def make_in_child(data, results):
    pickle.loads(data)
    results.put(pickle.loads(pickle.dumps(toy("child"))).encode("ab"))
