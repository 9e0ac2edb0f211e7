"""streamtok vocabulary: vocabularies that go on from others."""

from __future__ import annotations

import os
from typing import Any

import click

from .app import Group
from .options import DOCUMENTS, Given, file_names, file_option, load_encoding, option, takes
from .outputs import check_sources
from .train import (
    FILES,
    LIMITS,
    NAMED,
    OUTPUT,
    PARITY,
    RUN,
    Number,
    check_outputs,
    learned,
    name_of,
    parity_of,
    paths_of,
    sources_of,
    weighing,
)

_VOCABULARY = click.argument("vocabulary", metavar="VOCABULARY", shell_complete=file_names)
_ADDED = option("--added", type=Number(), required=True, metavar="N", help="Tokens to learn, such as 8000 or 8k.")


@click.group(cls=Group)
def command() -> None:
    """Make a vocabulary of another one: with more tokens, with fewer, or of two.

    VOCABULARY is the name of an encoding, a file or folder that train wrote, or a model's tokenizer.json.
    """


def _load(name: str) -> Any:
    beside = os.path.join(name, "training.json") if os.path.isdir(name) else f"{name}.json"
    is_saved = os.path.exists(beside) or (name.lower().endswith(".json") and os.path.isfile(name))
    return load_encoding(vocab=name) if is_saved else load_encoding(name)


def _files(*names: str) -> list[str]:
    """Those of these vocabularies that are files or folders."""
    return [name for name in names if os.path.exists(name)]


def _chosen(given: Given, *names: str) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names}


def _grow(given: Given, learn: Any, **more: Any) -> None:
    """Calls extend() or superwords(), and saves what it returns."""
    from ..train import save

    check_outputs(given, [*paths_of(given), *_files(given.vocabulary)])
    options = _chosen(given, *DOCUMENTS, *_PASSED) | weighing(given) | {"name": name_of(given.output)} | more
    base = _load(given.vocabulary)
    made = learned(given, learn, base, sources_of(given), given.added, **options)
    save(made, given.output)
    count, text = made.training["merges"], made.training["bytes"]
    click.echo(f"{count:,} tokens more than {base.name} in {given.output}, from {text:,} bytes of text", err=True)


_PASSED = ("checkpoint", "errors", "max_memory", "max_token_length", "min_frequency", "threads", "ties")


@takes(_VOCABULARY, FILES, _ADDED, OUTPUT, *LIMITS, *NAMED, *PARITY, *DOCUMENTS, "errors", *RUN, group=command)
def extend(given: Given) -> None:
    """Learn N further tokens from FILEs; the ids of VOCABULARY stay.

    New tokens get the ids behind the greatest one in use, that of a special token too.
    """
    from ..train import extend as learn

    _grow(given, learn, parity=parity_of(given))


@takes(
    _VOCABULARY,
    FILES,
    _ADDED,
    OUTPUT,
    option("--pattern", metavar="REGEX", help="How texts split from now on, or 'none'.  [default: lines and numbers]"),
    option(
        "--max-words",
        type=click.IntRange(min=0),
        default=4,
        show_default=True,
        metavar="N",
        help="Words of a new token; 0: any number.",
    ),
    option("--sample", type=float, default=1.0, metavar="SHARE", help="Learn from this share of distinct pieces."),
    option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Which pieces --sample takes."),
    *LIMITS,
    *NAMED,
    *DOCUMENTS,
    "errors",
    *RUN,
    group=command,
)
def superwords(given: Given) -> None:
    """Learn N further tokens that may hold several words, as SuperBPE does in its second stage.

    VOCABULARY is what train wrote, with as many tokens as the first stage is to have.
    """
    from ..train import SUPERWORDS
    from ..train import superwords as learn

    pattern = SUPERWORDS if given.pattern is None else None if given.pattern == "none" else given.pattern
    chosen = _chosen(given, "sample", "seed")
    _grow(given, learn, pattern=pattern, max_words=given.max_words or None, **chosen)


@takes(
    _VOCABULARY,
    FILES,
    NAMED[0],
    option("--left", type=Number(), required=True, metavar="N", help="Tokens to leave, such as 24000 or 24k."),
    OUTPUT,
    option("--dense", is_flag=True, help="Number the tokens that are left from 0 on.  [default: ids stay]"),
    file_option("--ids", metavar="NAME.npy", help="Write what each old id has become, -1 for none, as int64."),
    *DOCUMENTS,
    "errors",
    group=command,
)
def prune(given: Given) -> None:
    """Take out the tokens that FILEs use least, until N are left.

    Only tokens go that no other one is merged of. The 256 bytes and special tokens stay.
    """
    from ..train import prune as take_out
    from ..train import save

    check_outputs(given, [*paths_of(given), *_files(given.vocabulary)])
    if given.ids is not None:
        check_sources([given.ids], [*paths_of(given), given.vocabulary, given.output])
    base = _load(given.vocabulary)
    sources = sources_of(given)
    chosen = _chosen(given, *DOCUMENTS, "dense", "errors")
    made, new_ids = take_out(base, sources, given.left, name=name_of(given.output), **chosen)
    save(made, given.output)
    if given.ids is not None:
        _write_array(given.ids, new_ids)
    click.echo(f"{given.left:,} tokens of {base.name} in {given.output}", err=True)


def _write_array(path: str, array: Any) -> None:
    import io

    import numpy as np

    from .outputs import open_output

    held = io.BytesIO()
    np.save(held, array, allow_pickle=False)
    with open_output(path) as write:
        write(held.getvalue())


@takes(
    click.argument("first", metavar="FIRST", shell_complete=file_names),
    click.argument("second", metavar="SECOND", shell_complete=file_names),
    OUTPUT,
    group=command,
)
def merge(given: Given) -> None:
    """Make one vocabulary with the tokens of two; the ids of FIRST stay."""
    from ..train import merge as join
    from ..train import save

    check_outputs(given, _files(given.first, given.second))
    made = join(_load(given.first), _load(given.second), name=name_of(given.output))
    save(made, given.output)
    click.echo(f"{made.n_vocab:,} tokens in {given.output}, {made.training['between']:,} of them of neither", err=True)


@takes(
    _VOCABULARY,
    FILES,
    NAMED[0],
    option("--beside", metavar="NAME|FILE", multiple=True, help="Another vocabulary to compare with (repeatable)."),
    file_option(
        "--html", metavar="OUT.html", help="Write a page with this, and with tokens that are dead, long or odd."
    ),
    *DOCUMENTS,
    "errors",
    group=command,
)
def report(given: Given) -> None:
    """Show how VOCABULARY compresses FILEs, source by source: bytes a token, and tokens a word."""
    from ..train import report_page, report_sources

    sources = sources_of(given)
    named = [given.vocabulary, *given.beside]
    if given.html is not None:
        check_sources([given.html], [*paths_of(given), *_files(*named)])
    encodings = [_load(name) for name in named]
    chosen = _chosen(given, *DOCUMENTS, "errors")
    for encoding in encodings:
        click.echo(f"{encoding.name}, {encoding.n_vocab:,} tokens")
        click.echo(f"{'bytes':>14}  {'tokens':>12}  bytes/token  tokens/word  source")
        for each in report_sources(encoding, sources, **chosen):
            figures = f"{each.bytes_per_token:>11.3f}  {each.tokens_per_word:>11.3f}"
            click.echo(f"{each.bytes:>14,}  {each.tokens:>12,}  {figures}  {each.name}")
    if given.html is not None:
        report_page(encodings[0], sources, given.html, beside=encodings[1:], **chosen)
