"""Tables of models in the user's cache: the same ids, and no error, whatever happens to the file and the model."""

from __future__ import annotations

import copy
import functools
import gc
import json
import os
import pathlib
import pickle
import random
import stat
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import made_models
import oracle
import pytest
from cached import leftovers
from small_models import BOS, LLAMA3, TEXT_STEP, TOKENS, Both, added, record, split_by, texts

from streamtok import Encoding, VocabularyError, disk, tables
from streamtok.bundled import mapped, words
from streamtok.model_files import cached, kept, read, sources
from streamtok.native.words import chosen_words
from streamtok.train import save

NAMES = "<x>", "<y>"


def small(size: int = 420) -> dict[str, object]:
    """A model with all that tables have to keep: names, a template, a normalizer, tokens that no merge makes."""
    made = record(size, pre_tokenizer=split_by(LLAMA3), normalizer={"type": "NFC"}, model_ignore_merges=True)
    made["model"]["vocab"] |= {"ationate": len(made["model"]["vocab"])}
    added(added(made, "<s>", "<x>", special=True), "<y>")
    at = next(token["id"] for token in made["added_tokens"] if token["content"] == "<s>")
    known = {"<s>": {**TOKENS["<s>"], "ids": [at]}}
    made["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [BOS, TEXT_STEP],
        "pair": [],
        "special_tokens": known,
    }
    return made


@functools.cache
def some_words() -> tuple[bytes, bytes]:
    """Every tenth of the words, so that tables are built soon."""
    joined, lengths = words.read_all_words()
    ends = list(accumulate(lengths))
    some = [joined[end - n : end] for end, n in list(zip(ends, lengths))[::10]]
    return b"".join(some), bytes(map(len, some))


@pytest.fixture(autouse=True, scope="module")
def few_words():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cached, "read_all_words", some_words)
        yield


@pytest.fixture
def model(tmp_path) -> pathlib.Path:
    path = tmp_path / "models" / "tokenizer.json"
    path.parent.mkdir()
    path.write_text(json.dumps(small()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tables_of_small(tmp_path_factory, few_words) -> bytes:
    folder = tmp_path_factory.mktemp("built")
    (folder / "tokenizer.json").write_text(json.dumps(small()), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMTOK_CACHE", str(folder / "cache"))
        return pathlib.Path(cached.build(folder / "tokenizer.json")).read_bytes()


def put(model: pathlib.Path, data: bytes) -> pathlib.Path:
    place = pathlib.Path(cached.file_of(model))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(data)
    return place


def uses_cache(encoding: Encoding) -> bool:
    return mapped.is_cached(encoding._vocab)


def same(one: Encoding, other: Encoding) -> None:
    """Two encodings with the same facts and the same ids."""
    assert one.fingerprint == other.fingerprint and one.pattern_engine == other.pattern_engine
    assert (one.prefix_ids, one.suffix_ids, one.n_vocab) == (other.prefix_ids, other.suffix_ids, other.n_vocab)
    assert one.get_vocab() == other.get_vocab() and one.truncation == other.truncation
    assert one._mergeable_ranks == other._mergeable_ranks and one.special_tokens_set == other.special_tokens_set
    for text in (*texts(3, 200, *NAMES, "ationate", "e\u0301"), oracle.topics()[:100_000]):
        for kind in ({"allowed_special": "all"}, {"disallowed_special": (), "add_special_tokens": True}):
            ids = one.encode(text, **kind)
            assert other.encode(text, **kind) == ids and other.decode(ids) == one.decode(ids)
            assert other.decode(ids, skip_special_tokens=True) == one.decode(ids, skip_special_tokens=True)
            chunks = oracle.random_cuts(random.Random(len(text)), text, (1, 3, 40, 5000))
            assert oracle.streamed(other.stream_encoder(**kind), chunks) == ids


# ==== Building, and what it gives ====


def test_nothing_is_written_unasked(model, cache):
    Encoding.from_file(model).encode("hello" * 100)
    assert not cache.exists()


def test_ids_are_the_same(model, cache, tables_of_small):
    plain = Encoding.from_file(model)
    put(model, tables_of_small)
    full = Encoding.from_file(model)
    assert uses_cache(full) and not uses_cache(plain)
    same(full, plain)
    Both(model).check(texts(5, 200, *NAMES, "ationate"))


def test_tables_of_a_model_are_opened_without_what_reads_its_file(model, cache, tables_of_small):
    put(model, tables_of_small)
    command = "import sys, streamtok as s; s.Encoding.from_file(sys.argv[1]).encode('a <y>'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command, str(model)], check=True, text=True, capture_output=True)
    loaded = set(done.stdout.split())
    assert "streamtok.model_files.kept" in loaded
    assert not loaded & {"numpy", "dataclasses", "typing", "streamtok.model_files.model", "streamtok.patterns.compile"}


@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}])
def test_what_is_kept_of_a_model_is_what_its_file_says(flags, tmp_path, cache):
    """A model whose names take white space is kept; one whose names are sought by other rules is read whole."""
    path, made = tmp_path / "tokenizer.json", small()
    made["added_tokens"][0] |= flags
    path.write_text(json.dumps(made), encoding="utf-8")
    whole, full = Encoding.from_file(path), Encoding.from_file(path, cache=True)
    assert isinstance(full._model, kept.KeptModel) == (not flags.keys() & {"single_word", "normalized"})
    same(full, whole)
    for attribute in "name template normalizer pattern special plain record parts raw empty".split():
        assert getattr(full._model, attribute) == getattr(whole._model, attribute), attribute
    assert full._model.added_names.skipped == whole._model.added_names.skipped
    assert full._model.added_names.has_rules == whole._model.added_names.has_rules
    assert full._model.splitter.identity == whole._model.splitter.identity


def test_building_finding_and_removing(model, cache):
    made = Encoding.from_file(model, cache=True)
    assert uses_cache(made) and made._vocab.path == cached.file_of(model) and leftovers(cache) == []
    before = os.stat(made._vocab.path)
    assert uses_cache(Encoding.from_file(model, cache=True))
    assert tables.build(str(model)) == {str(model): made._vocab.path}
    assert os.path.samestat(os.stat(made._vocab.path), before), "it was good"
    assert tables.status()["models"] == {made._vocab.path: [str(model), before.st_size]}
    assert tables.remove(str(model)) == [made._vocab.path] and tables.remove(str(model)) == []
    assert not uses_cache(Encoding.from_file(model)) and tables.status()["models"] == {}


@pytest.mark.parametrize("kind", ["tekken", "pattern of regex"])
def test_files_of_other_kinds(kind, tmp_path, cache):
    import base64

    single = [bytes([byte]) for byte in range(256)]
    ranks = [*single, b"th", b"the", b" the"]
    vocab = [{"rank": i, "token_bytes": base64.b64encode(token).decode()} for i, token in enumerate(ranks)]
    pattern = LLAMA3 if kind == "tekken" else r"\w+(?=.*!)|\w+|\W"
    config = {"pattern": pattern, "default_vocab_size": len(ranks) + 2, "default_num_special_tokens": 2}
    names = [{"token_str": name, "rank": i} for i, name in enumerate(("<s>", "<x>"))]
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps({"config": config, "vocab": vocab, "special_tokens": names}))
    plain = Encoding.from_file(path)
    full = Encoding.from_file(path, cache=True)
    assert uses_cache(full) and uses_cache(Encoding.from_file(path))
    same(full, plain)


def test_copies_pickles_forks_and_threads(model, cache, tables_of_small):
    plain = Encoding.from_file(model)
    put(model, tables_of_small)
    full, text = Encoding.from_file(model), oracle.topics()[:300_000]
    expected = plain.encode(text)
    for other in (
        copy.copy(full),
        copy.deepcopy(full),
        pickle.loads(pickle.dumps(full)),
        pickle.loads(pickle.dumps(plain)),
    ):
        assert other.encode(text) == expected and other.fingerprint == plain.fingerprint
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(full.encode, [text] * 8)) == [expected] * 8
    assert full.encode_batch([text] * 3, num_threads=2) == [expected] * 3
    if hasattr(os, "fork"):
        child = os.fork()
        if not child:
            os._exit(full.encode(text) != expected)
        assert os.waitpid(child, 0)[1] == 0


def test_a_stream_goes_on_with_or_without_tables(model, cache, tables_of_small):
    plain, text, rng = Encoding.from_file(model), oracle.topics()[:20_000], random.Random(2)
    put(model, tables_of_small)
    full = Encoding.from_file(model)
    expected = plain.encode(text)
    for first, second in ((plain, full), (full, plain)):
        for _ in range(30):
            cut = rng.randrange(len(text))
            stream = first.stream_encoder()
            ids = stream.feed(text[:cut]).tolist()
            state, stream = stream.getstate(), second.stream_encoder()
            stream.setstate(state)
            assert ids + stream.feed(text[cut:]).tolist() + stream.flush().tolist() == expected


def test_words_are_pieces_and_no_tokens(model, cache):
    enc = Encoding.from_file(model)
    listed = [b" exceptional", b"two words", b"12", b"1234", b"don't", b"   ", b"", b"\xff", b"e", b"zq", b" zq "]
    given = b"".join(listed), bytes(map(len, listed))
    kept = [b" exceptional", b"12", b"   ", b"zq"]
    assert enc._vocab.find(b"e") is not None and all(enc._vocab.find(word) is None for word in kept)
    assert chosen_words(enc._vocab, enc._coder.pattern, *given, 100) == (b"".join(kept), bytes(map(len, kept)))
    assert chosen_words(enc._vocab, enc._coder.pattern, *given, 2) == (b" exceptional12", bytes([12, 2]))
    with pytest.raises(ValueError, match="lengths"):
        chosen_words(enc._vocab, enc._coder.pattern, b"abc", b"\1\1", 2)


def test_words_of_the_tables_have_the_ids_that_merging_gives(model, cache, tables_of_small):
    put(model, tables_of_small)
    full, rng = Encoding.from_file(model), random.Random(3)
    joined, lengths = some_words()
    at = count = 0
    for n in lengths:
        word, at = joined[at : at + n], at + n
        if rng.random() < 0.2 and full._vocab.find(word) is None:
            assert full._coder.encode_piece(word) == full._vocab.merge(word)
            count += 1
    assert count > 2000


@pytest.mark.parametrize("path", made_models.files(), ids=made_models.name_of)
def test_real_models_have_the_same_ids(path, cache):
    made_models.ready(path)
    plain, full = Encoding.from_file(path), Encoding.from_file(path, cache=True)
    assert uses_cache(full) and not uses_cache(plain)
    same(full, plain)
    for name in ("english", "code", "multilingual"):
        text = oracle.corpus(name)[:500_000]
        expected = plain.encode_to_numpy(text, disallowed_special=())
        assert full.encode_to_numpy(text, disallowed_special=()).tolist() == expected.tolist()


# ==== Damaged, stale and foreign tables ====


def test_every_damaged_byte_is_noticed_and_the_file_removed(model, cache, tables_of_small):
    rng, size = random.Random(4), len(tables_of_small)
    damaged = bytearray(tables_of_small)
    places = [*range(0, 300, 5), *range(300, 70_000, 2003), *(rng.randrange(size) for _ in range(25)), size - 1]
    for at in places:
        damaged[at] ^= 1 << rng.randrange(8)
        place = put(model, damaged)
        assert cached.open_cached(model) is None, at
        assert not place.exists()
        damaged[at] = tables_of_small[at]
    put(model, damaged)
    assert uses_cache(Encoding.from_file(model))


def test_a_cut_file_is_removed(model, cache, tables_of_small):
    for size in (0, 100, 256, 270, 300, 4096, 40_000, len(tables_of_small) // 2, len(tables_of_small) - 1):
        place = put(model, tables_of_small[:size])
        assert not uses_cache(Encoding.from_file(model)) and not place.exists()
    put(model, tables_of_small + b"\0")
    assert not uses_cache(Encoding.from_file(model))


def test_a_changed_model_is_read_anew(model, cache, tables_of_small):
    put(model, tables_of_small)
    times = os.stat(model)
    other = json.loads(model.read_text())
    merges = other["model"]["merges"]
    merges[0], merges[40] = merges[40], merges[0]  # as long as before
    model.write_text(json.dumps(other))
    os.utime(model, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert os.stat(model).st_size == times.st_size
    changed = Encoding.from_file(model)
    assert not uses_cache(changed)
    Both(model).check(texts(6, 100))
    model.write_text("{")
    with pytest.raises(VocabularyError, match="a key is missing"):
        Encoding.from_file(model)
    model.unlink()
    with pytest.raises(FileNotFoundError):
        Encoding.from_file(model)


def test_tables_of_another_model_are_not_used(model, cache, tables_of_small):
    model.write_text(json.dumps(small(430)))
    place = put(model, tables_of_small)
    assert not uses_cache(Encoding.from_file(model)) and not place.exists()


def test_a_copy_of_a_model_uses_its_tables_and_a_companion_counts(model, cache, tables_of_small):
    put(model, tables_of_small)
    other = model.parent.with_name("copy")
    other.mkdir()
    (other / "tokenizer.json").write_bytes(model.read_bytes())
    assert uses_cache(Encoding.from_file(other / "tokenizer.json"))
    assert Encoding.from_file(other / "tokenizer.json").name == str(other / "tokenizer.json")
    assert not uses_cache(Encoding.from_file(other)), "a folder has more files"
    assert uses_cache(Encoding.from_file(other, cache=True))
    (other / "tokenizer_config.json").write_text("{}")
    assert not uses_cache(Encoding.from_file(other))
    (other / "tokenizer_config.json").write_text('{"added_tokens_decoder": {"3": {"content": "<x>"}}}')
    with pytest.raises(VocabularyError, match="<x>"):
        Encoding.from_file(other)


def test_all_files_that_are_read_count(model, cache, tmp_path):
    """Every file that reading a model opens, or looks for, is one of sources_of()."""
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (model.parent / name).write_text("{}")
    pair = tmp_path / "pair"
    pair.mkdir()
    made = record(270)["model"]
    (pair / "vocab.json").write_text(json.dumps(made["vocab"] | {"<|endoftext|>": len(made["vocab"])}))
    (pair / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in made["merges"]))
    (pair / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    ranks = tmp_path / "ranks.tiktoken"
    save(
        Encoding("small", pat_str=LLAMA3, mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}), ranks
    )
    for path in (model, model.parent, pair, pair / "vocab.json", ranks):
        opened = opened_files(path)
        assert opened and opened <= {os.path.realpath(source) for source in sources.sources_of(str(path)).values()}
        plain, full = Encoding.from_file(path), Encoding.from_file(path, cache=True)
        assert uses_cache(full) and uses_cache(Encoding.from_file(path)) and full.name == plain.name
        same(full, plain)


OPENED = """
import os, sys
from streamtok.model_files.read import read_model
read_model(sys.argv[1])  # what is imported on the way is, now
seen = []
sys.addaudithook(lambda event, given: seen.append(given[0]) if event == "open" else None)
read_model(sys.argv[1])
print(*(os.path.realpath(path) for path in seen if isinstance(path, str)), sep="\\n")
"""


def opened_files(path: pathlib.Path) -> set[str]:
    """The files that reading a model opens."""
    command = [sys.executable, "-c", OPENED, str(path)]
    return set(subprocess.run(command, check=True, text=True, capture_output=True, timeout=60).stdout.split("\n")[:-1])


def test_tables_of_another_version_are_not_used(model, cache, tables_of_small, monkeypatch):
    old = put(model, tables_of_small)
    monkeypatch.setattr(cached.mapped, "__version__", "9.9")
    assert pathlib.Path(cached.file_of(model)) != old
    assert not uses_cache(Encoding.from_file(model)) and old.exists()
    place = put(model, tables_of_small)  # under the name of the other version
    assert not uses_cache(Encoding.from_file(model)) and not place.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the permissions of POSIX")
def test_tables_that_others_can_change_are_passed_over(model, cache, tables_of_small):
    place = put(model, tables_of_small)
    place.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IWOTH)
    assert not uses_cache(Encoding.from_file(model)) and place.exists()
    place.chmod(stat.S_IRUSR)
    assert uses_cache(Encoding.from_file(model))
    target = place.with_suffix(".elsewhere")
    place.rename(target)
    place.symlink_to(target)
    assert not uses_cache(Encoding.from_file(model))


def test_the_variable_asks_for_no_tables(model, cache, tables_of_small, monkeypatch):
    put(model, tables_of_small)
    monkeypatch.setenv("STREAMTOK_TABLES", "package")
    assert not uses_cache(Encoding.from_file(model))
    assert not uses_cache(Encoding.from_file(model, cache=True))


UNWRITABLE = ("file", "read-only", "full", "full in the middle", "no home")


def make_unwritable(kind: str, cache, monkeypatch) -> None:
    if kind == "file":
        cache.write_bytes(b"in the way")
    elif kind == "read-only":
        monkeypatch.setattr(os, "makedirs", failing(PermissionError(13, "Permission denied")))
    elif kind == "full":
        monkeypatch.setattr("shutil.disk_usage", lambda path: types.SimpleNamespace(free=1000))
    elif kind == "full in the middle":
        monkeypatch.setattr(disk, "os_replace", failing(OSError(28, "No space left on device")))
    else:
        monkeypatch.delenv("STREAMTOK_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)


def failing(error: OSError):
    def fail(*arguments, **options):
        raise error

    return fail


@pytest.mark.parametrize("kind", UNWRITABLE)
def test_where_tables_cannot_be_kept_the_model_loads_and_says_so_once(kind, model, cache, monkeypatch):
    wanted = Encoding.from_file(model)
    monkeypatch.setattr(cached, "_said", set())
    make_unwritable(kind, cache, monkeypatch)
    with pytest.warns(UserWarning, match=r"tokenizer\.json cannot be kept, .* STREAMTOK_CACHE, or leave") as warned:
        found = Encoding.from_file(model, cache=True)
    assert len(warned) == 1 and warned[0].filename == __file__
    again = Encoding.from_file(model, cache=True)  # it is not said a second time
    for text in texts(3, 50, *NAMES):
        ids = wanted.encode(text, allowed_special="all")
        assert found.encode(text, allowed_special="all") == again.encode(text, allowed_special="all") == ids
    assert not uses_cache(found) and (kind == "file" or leftovers(cache) == [])
    with pytest.raises(OSError):
        tables.build(str(model))


def test_what_is_wrong_with_the_model_itself_is_an_error(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(cached, "_said", set())
    make_unwritable("file", cache, monkeypatch)
    with pytest.raises(FileNotFoundError):
        Encoding.from_file(tmp_path / "none.json", cache=True)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(VocabularyError):
        Encoding.from_file(tmp_path / "broken.json", cache=True)


def test_a_file_in_the_place_of_the_folder_has_no_tables_to_list_or_remove(cache, model):
    cache.mkdir()
    (cache / "tables").write_bytes(b"in the way")
    assert tables.status()["built"] == tables.status()["models"] == {}
    assert tables.remove() == tables.remove(str(model)) == tables.remove("gpt2") == []


def test_a_model_that_changes_while_tables_are_built(model, cache, monkeypatch):
    plain = read.read_model

    def changed(path):
        made = plain(path)
        model.write_text(json.dumps(small(430)))
        return made

    monkeypatch.setattr(cached, "read_model", changed)
    with pytest.raises(OSError, match="was changed while it was read"):
        cached.build(model)
    assert leftovers(cache) == [] and tables.status()["models"] == {}


def test_unused_tables_go_when_others_are_built(model, cache, tables_of_small):
    place = put(model, tables_of_small)
    old, used = place.with_name("model-0-00000000.tables"), place.with_name("model-1-00000000.tables")
    stale = place.with_name("model-0-00000000.tables.1.partial")
    for path in (old, used, stale):
        path.write_bytes(b"of a version that is gone")
    os.utime(old, (1, 1))
    os.utime(stale, (1, 1))
    place.unlink()
    cached.build(model)
    assert not old.exists() and not stale.exists() and used.exists()
    assert set(tables.remove()) == {str(place), str(used)}


# ==== The command ====


def test_the_command(model, cache):
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "streamtok", "tables", *arguments]
        return subprocess.run(command, check=True, text=True, capture_output=True, timeout=120).stdout

    pytest.importorskip("click")
    assert "there are none" in run("list")
    assert cached.file_of(model) in run("build", str(model))
    listed = run("list")
    assert str(model) in listed and "MB" in listed
    assert cached.file_of(model) in run("remove", str(model)) and "there are none" in run("list")


def test_tables_in_a_cycle_are_let_go_without_an_error(model):
    made = Encoding.from_file(model, cache=True)
    assert made._vocab.path is not None
    made.__dict__["itself"] = made
    del made
    gc.collect()  # what cannot be released fails the test
