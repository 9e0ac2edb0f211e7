"""The plugin in SGLang beside SGLang without it. test_servers.py runs this file."""

from __future__ import annotations

import asyncio
import importlib.metadata
import random
from types import SimpleNamespace

import pytest
import served_tokenizers
import stand_ins
from kinds_of_tokenizers import NAMES
from plugin_points import entry_points
from twins import check_calls

stand_ins.reach(
    "sglang",
    "triton starlette zmq IPython torchvision setproctitle tvm_ffi compressed_tensors gguf openai partial_json_parser "
    "fastapi uvicorn einops",
)

from sglang.srt import plugins  # noqa: E402
from sglang.srt.managers import detokenizer_manager  # noqa: E402
from sglang.srt.managers.async_dynamic_batch_tokenizer import AsyncDynamicbatchTokenizer  # noqa: E402
from sglang.srt.plugins.hook_registry import HookRegistry  # noqa: E402
from sglang.srt.utils import hf_transformers  # noqa: E402

from streamtok.integrations import sglang  # noqa: E402
from streamtok.integrations.transformers import engine, reasons, unpatch  # noqa: E402

KINDS = served_tokenizers.all_kinds()
PLAIN = [hf_transformers.get_tokenizer]  # in a list, where the hooks do not look


def load_plugins(named: str) -> None:
    """As SGLang does it in each process, with a value of SGLANG_PLUGINS."""
    name, _, value = entry_points()[plugins.GENERAL_PLUGINS_GROUP].partition(" = ")
    point = SimpleNamespace(name=name, value=value, dist=SimpleNamespace(name="streamtok"))
    point.load = importlib.metadata.EntryPoint(name, value, plugins.GENERAL_PLUGINS_GROUP).load
    patch = pytest.MonkeyPatch()
    patch.setattr(plugins, "entry_points", lambda group: [point] * (group == plugins.GENERAL_PLUGINS_GROUP))
    patch.setattr(plugins, "_plugins_loaded", False)
    patch.setenv("SGLANG_PLUGINS", named) if named else patch.delenv("SGLANG_PLUGINS", raising=False)
    plugins.load_plugins()
    patch.undo()


def test_a_plugin_that_is_not_named_changes_nothing():
    for named in ("", "another"):
        load_plugins(named)
        assert hf_transformers.get_tokenizer is PLAIN[0] and not HookRegistry._hooks


@pytest.fixture(scope="module")
def _hooked():
    load_plugins("another, streamtok")
    assert len(HookRegistry._patched) == 2
    assert detokenizer_manager.get_tokenizer is hf_transformers.get_tokenizer is not PLAIN[0]


@pytest.fixture(params=KINDS)
def both(request, tmp_path, _hooked):
    folder = served_tokenizers.folder_of(request.param, tmp_path)
    ours, theirs = hf_transformers.get_tokenizer(folder), PLAIN[0](folder)
    assert engine(ours) is not None
    return [ours, theirs]


def test_random_calls(both):
    both[0].model_max_length = both[1].model_max_length = 60
    check_calls(*both, NAMES, 4, 60)
    assert reasons(both[0])[""] > 30


def test_prompts_in_batches_that_form_as_they_come(both):
    ours, theirs = both
    texts = served_tokenizers.prompts(random.Random(1), 30)

    async def all_of_them():
        batcher = AsyncDynamicbatchTokenizer(ours)
        return await asyncio.gather(*(batcher.encode(text) for text in texts))

    for text, made in zip(texts, asyncio.run(all_of_them())):
        assert made["input_ids"] == theirs(text)["input_ids"]
    long = " ".join(texts) + "hello Größe " * 2_000
    for end in ("", "a", "b <x>"):
        assert ours.encode(long + end) == theirs.encode(long + end)
    assert ours.__dict__["_streamtok"].prefixes._cache.stats().hits >= 2


def detokenizer_of(tokenizer):
    """A manager without its sockets."""
    made = detokenizer_manager.DetokenizerManager.__new__(detokenizer_manager.DetokenizerManager)
    made.tokenizer, made.vocab_size = tokenizer, len(tokenizer)
    made.decode_status, made.disable_tokenizer_batch_decode = {}, False
    made.is_tool_call_parser_gpt_oss, made.tool_close_token_ids = False, ()
    return made


def steps_of(rng, requests):
    """What a scheduler sends: a few ids of each request at a time."""
    at = [0] * len(requests)
    flags = [(rng.random() < 0.5, rng.random() < 0.5) for _ in requests]
    while any(at[i] < len(answer) for i, (_, answer) in enumerate(requests)):
        live = [i for i, (_, answer) in enumerate(requests) if at[i] < len(answer)]
        sizes = [rng.choice((1, 1, 2)) for _ in live]
        before = [at[i] for i in live]
        for i, size in zip(live, sizes):
            at[i] = min(at[i] + size, len(requests[i][1]))
        ids = [requests[i][0] * (begun == 0) + requests[i][1][begun : at[i]] for i, begun in zip(live, before)]
        yield SimpleNamespace(
            rids=[f"r{i}" for i in live],
            decoded_texts=[""] * len(live),
            decode_ids=ids,
            read_offsets=[len(requests[i][0]) for i in live],
            finished_reasons=[None if at[i] < len(requests[i][1]) else {"type": "length"} for i in live],
            no_stop_trim=[False] * len(live),
            skip_special_tokens=[flags[i][0] for i in live],
            spaces_between_special_tokens=[flags[i][1] for i in live],
        )


def test_answers_as_the_detokenizer_gives_them(both):
    rng = random.Random(2)
    for _ in range(5):
        requests = served_tokenizers.answers(rng, both[1], 20)
        seed, texts = rng.random(), []
        for tokenizer in both:
            manager, given = detokenizer_of(tokenizer), []
            for step in steps_of(random.Random(seed), requests):
                given.append(manager._decode_batch_token_id_output(step))
            texts.append(given)
        assert texts[0] == texts[1]


def test_the_tokenizer_of_a_processor(tmp_path, _hooked):
    tokenizer = PLAIN[0](served_tokenizers.folder_of("llama3", tmp_path))
    made = sglang._processor(lambda path: SimpleNamespace(tokenizer=tokenizer), "path")
    assert made.tokenizer is tokenizer and engine(tokenizer) is not None
    unpatch(tokenizer)
    assert sglang._processor(lambda path: tokenizer, "path") is tokenizer and engine(tokenizer) is not None
    other = SimpleNamespace()
    assert sglang._tokenizer(lambda path: other, "path") is other
