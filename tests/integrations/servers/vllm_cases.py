"""The tokenizer of this package in vLLM, member by member beside vLLM's own. test_servers.py runs this file."""

from __future__ import annotations

import asyncio
import copy
import importlib.metadata
import inspect
import pickle
import random
import threading
from types import SimpleNamespace

import pytest
import served_tokenizers
import stand_ins
import tokenizers
from kinds_of_tokenizers import NAMES
from plugin_points import entry_points
from twins import assert_same, check_calls, outcome

stand_ins.reach("vllm", "cbor2 zmq openai_harmony openai PIL prometheus_client uvloop cpuinfo")

from vllm import plugins  # noqa: E402
from vllm.renderers.hf import HfRenderer  # noqa: E402
from vllm.renderers.params import TokenizeParams  # noqa: E402
from vllm.renderers.registry import RENDERER_REGISTRY  # noqa: E402
from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.tokenizers import TokenizerLike, get_tokenizer, maybe_make_thread_pool  # noqa: E402
from vllm.tokenizers.detokenizer_utils import convert_ids_list_to_tokens  # noqa: E402
from vllm.tokenizers.registry import TokenizerRegistry  # noqa: E402
from vllm.v1.engine.detokenizer import (  # noqa: E402
    FastIncrementalDetokenizer,
    IncrementalDetokenizer,
    SlowIncrementalDetokenizer,
)

from streamtok.integrations import decode_stream, vllm  # noqa: E402
from streamtok.integrations.transformers import engine, reasons  # noqa: E402

KINDS = served_tokenizers.all_kinds()


@pytest.fixture(scope="session", autouse=True)
def _registered():
    """As vLLM does it in each process: by the entry point."""
    name, _, value = entry_points()[plugins.DEFAULT_PLUGINS_GROUP].partition(" = ")
    points = [importlib.metadata.EntryPoint(name, value, plugins.DEFAULT_PLUGINS_GROUP)]
    patch = pytest.MonkeyPatch()
    patch.setattr(importlib.metadata, "entry_points", lambda group: points)
    plugins.load_general_plugins()
    patch.undo()
    vllm.register()
    assert TokenizerRegistry.load_tokenizer_cls("streamtok") is vllm.StreamtokTokenizer


@pytest.fixture(params=KINDS)
def both(request, tmp_path):
    folder = served_tokenizers.folder_of(request.param, tmp_path)
    return [get_tokenizer(folder, tokenizer_mode=mode) for mode in ("streamtok", "hf")]


LONG = "hello Größe 東京 <x>\n don't 1234567 " * 700
CALLS = {
    "__call__": [
        ((LONG,), {}),
        ((["a b", LONG],), {}),
        (("a", "b"), {}),
        ((LONG,), {"truncation": True, "max_length": 9}),
    ],
    "apply_chat_template": [
        (([{"role": "user", "content": "hi <x>"}],), {"tokenize": tokenize, "add_generation_prompt": tokenize})
        for tokenize in (False, True)
    ],
    "convert_ids_to_tokens": [(([1, 5, 270, 2],), {}), (([1, 5, 270, 2],), {"skip_special_tokens": True})],
    "convert_tokens_to_ids": [(("a",), {}), ((["a", "<s>", "b", "no such"],), {})],
    "convert_tokens_to_string": [((["h", "e", "<s>"],), {})],
    "decode": [(([1, 5, 270, 2],), {}), ((5,), {}), (([1, 5, 270, 2],), {"skip_special_tokens": True}), (([],), {})],
    "encode": [((LONG,), {}), ((LONG,), {"add_special_tokens": False}), ((LONG, True, 7), {}), (("",), {})],
    "get_added_vocab": [((), {})],
    "get_vocab": [((), {})],
    "num_special_tokens_to_add": [((), {})],
    "__len__": [((), {})],
    "__hash__": None,  # of the object
    "from_pretrained": None,  # the fixture
}


def test_each_member_of_the_protocol(both):
    ours, theirs = both
    members = {
        name
        for name in vars(TokenizerLike)
        if callable(getattr(TokenizerLike, name)) or isinstance(inspect.getattr_static(TokenizerLike, name), property)
    } - {"__init__", "__subclasshook__"}
    values = {name for name in members if isinstance(inspect.getattr_static(TokenizerLike, name), property)}
    assert members - values - CALLS.keys() == set(), "a new method: say here how it is called"
    for name in sorted(values):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name, calls in CALLS.items():
        for arguments, options in calls or ():
            wanted = outcome(getattr(type(theirs), name), theirs, *arguments, **options)
            found = outcome(getattr(type(ours), name), ours, *arguments, **options)
            if name.endswith("vocab"):  # each tokenizer has an order of its own
                found, wanted = sorted(found.items()), sorted(wanted.items())
            assert_same(found, wanted, (name, options))
    assert hash(ours) == hash(ours) and ours.is_fast
    assert engine(ours) is not None and reasons(ours)[""] > 5


def test_random_calls(both):
    both[0].model_max_length = both[1].model_max_length = 60
    check_calls(*both, NAMES, 3, 60)


def request_of(prompt, **params):
    sampling = SamplingParams(**params)
    return SimpleNamespace(request_id="r", prompt_token_ids=prompt, prompt_embeds=None, sampling_params=sampling)


def texts_of(tokenizer, prompt, answer, steps, **params):
    """What a stream of an answer has given at each step, and where it stopped."""
    stream = IncrementalDetokenizer.from_new_request(tokenizer, request_of(prompt, **params))
    assert isinstance(stream, FastIncrementalDetokenizer)
    at, given, stopped = 0, "", None
    for size in steps:
        stopped = stream.update(answer[at : at + size], False)
        at += size
        given += stream.get_next_output_text(False, True)
        if stopped or at >= len(answer):
            break
    given += stream.get_next_output_text(True, True)
    return given, stopped, stream.output_token_ids, stream.output_text


def test_streams_of_answers(both):
    ours, theirs = both
    rng = random.Random(7)
    for prompt, answer in served_tokenizers.answers(rng, theirs, 60):
        steps = [rng.choice((1, 1, 1, 3)) for _ in answer]
        params = {
            "skip_special_tokens": rng.random() < 0.5,
            "spaces_between_special_tokens": rng.random() < 0.5,
            "stop": rng.choice((None, None, ["e"], ["hello", "o w", "\n"])),
            "include_stop_str_in_output": rng.random() < 0.5,
            "min_tokens": rng.choice((0, 0, 2)),
        }
        wanted = texts_of(theirs, prompt, answer, steps, **params)
        assert texts_of(ours, prompt, answer, steps, **params) == wanted, (prompt, answer, steps, params)
    stream = FastIncrementalDetokenizer(ours, request_of([5, 6]))
    stream.update([7], False)
    is_served = engine(ours)._rule_decoder is None
    assert isinstance(stream.stream, decode_stream.DecodeStream) and (stream.stream._theirs is None) == is_served
    stream = FastIncrementalDetokenizer(theirs, request_of([5, 6]))
    stream.update([7], False)
    assert isinstance(stream.stream._theirs, decode_stream.DecodeStream.original)


def test_ids_that_the_model_does_not_have(both):
    ours, theirs = both
    unknown = max(theirs.get_vocab().values()) + 9
    prompt, answer = theirs.encode("hello") + [unknown], theirs.encode(" wörld hello", add_special_tokens=False)
    answer[2:2] = [unknown, unknown]
    for steps in ([1] * 40, [4] * 20):
        assert texts_of(ours, prompt, answer, steps) == texts_of(theirs, prompt, answer, steps)
    for bad in (-1, 2**33):
        texts = [texts_of(each, prompt, [answer[0], bad, *answer[3:]], [1] * 40) for each in both]
        assert texts[0] == texts[1]


def test_a_prompt_that_ends_inside_a_character(tmp_path):
    """Behind it vLLM's own stream gives the prompt again; ours what follows."""
    folder = served_tokenizers.folder_of("llama3", tmp_path)
    ours = get_tokenizer(folder, tokenizer_mode="streamtok")
    ids = ours.encode("hello 🤗 there", add_special_tokens=False)
    cut = next(at for at in range(1, len(ids)) if ours.decode(ids[:at]).endswith("\ufffd"))
    given = texts_of(ours, ids[:cut], ids[cut:], [1] * 40)[0]
    assert given == "🤗 there"


def test_the_slow_stream_and_tokens(both):
    ours, theirs = both
    rng = random.Random(8)
    for prompt, answer in served_tokenizers.answers(rng, theirs, 10):
        found = []
        for each in both:
            stream = SlowIncrementalDetokenizer(each, request_of(prompt))
            stream.update(answer, False)
            found.append(stream.output_text)
        assert found[0] == found[1]
        assert convert_ids_list_to_tokens(ours, answer) == convert_ids_list_to_tokens(theirs, answer)


def renderer_of(tokenizer):
    model = SimpleNamespace(renderer_num_workers=2, supports_multimodal_inputs=False, hf_config=SimpleNamespace())
    config = SimpleNamespace(model_config=model, parallel_config=SimpleNamespace(_api_process_rank=0))
    return RENDERER_REGISTRY.load_renderer("streamtok", config, tokenizer)


def test_prompts_through_the_renderer(both, tmp_path):
    ours, theirs = both
    renderer = renderer_of(ours)
    assert isinstance(renderer, HfRenderer)
    params = [TokenizeParams(max_total_tokens=None), TokenizeParams(max_total_tokens=50, truncate_prompt_tokens=8)]
    texts = served_tokenizers.prompts(random.Random(9), 20)

    async def all_of_them():
        asked = [renderer._tokenize_prompt_async({"prompt": text}, each) for text in texts for each in params]
        return [made["prompt_token_ids"] for made in await asyncio.gather(*asked)]

    wanted = [theirs(text, **each.get_encode_kwargs())["input_ids"] for text in texts for each in params]
    assert asyncio.run(all_of_them()) == wanted
    renderer._executor.shutdown()


def test_prompts_that_begin_alike_are_encoded_once(tmp_path):
    """In the threads of a pool, too: its copies share the cache."""
    folder = served_tokenizers.folder_of("llama3", tmp_path)
    ours, theirs = (get_tokenizer(folder, tokenizer_mode=mode) for mode in ("streamtok", "hf"))
    pool = maybe_make_thread_pool(copy.copy(ours), 2)
    texts, failed = [LONG + f"{number} and more" for number in range(12)], []

    def ask(number):
        found = pool(texts[number])["input_ids"]
        if found != theirs(texts[number])["input_ids"]:
            failed.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    ask(0)
    stats = ours.__dict__["_streamtok"].prefixes._cache.stats()
    assert stats.hits >= 4 and stats.bytes_saved > len(LONG)


def test_room_of_the_cache(tmp_path, monkeypatch):
    folder = served_tokenizers.folder_of("llama3", tmp_path)
    monkeypatch.setenv("STREAMTOK_PREFIX_CACHE", "0")
    ours = vllm.StreamtokTokenizer.from_pretrained(folder)
    assert ours.__dict__["_streamtok"].prefixes is None
    monkeypatch.setenv("STREAMTOK_PREFIX_CACHE", "much")
    with pytest.raises(ValueError, match="STREAMTOK_PREFIX_CACHE='much': write a number of bytes"):
        vllm.StreamtokTokenizer.from_pretrained(folder)


def test_copies_and_pickles(both):
    ours, theirs = both
    for twin in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert twin(LONG)["input_ids"] == theirs(LONG)["input_ids"]
        assert engine(twin) is not None
        assert twin.max_token_id == theirs.max_token_id


def test_streams_of_other_tokenizers_are_the_originals(tmp_path):
    """Of tokenizers that nobody patched, and of copies with another backend."""
    folder = served_tokenizers.folder_of("llama3", tmp_path)
    ours = get_tokenizer(folder, tokenizer_mode="streamtok")
    ids = ours.encode("hello wörld")
    for backend in (tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json"), copy.deepcopy(ours)._tokenizer):
        stream = tokenizers.decoders.DecodeStream(ids=ids[:2], skip_special_tokens=False)
        text = "".join(stream.step(backend, each) or "" for each in ids[2:])
        assert ours.decode(ids) == ours.decode(ids[:2]) + text
        assert stream._theirs is not None
