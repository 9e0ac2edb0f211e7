"""What the files of a folder say of special and added tokens, as transformers reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import shown
from ..load import read_file
from .field import Field

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")

_NAMED_LISTS = ("additional_special_tokens", "extra_special_tokens")

_ORDER = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""In which order transformers adds those that are no tokens of the vocabulary; others stand behind."""

Token = dict[str, Any]
"""An entry of `added_tokens`, mostly without its id."""


def json_of(folder: str, name: str) -> Field | None:
    path = os.path.join(folder, name)
    return Field.parse_bytes(read_file(path), path) if os.path.isfile(path) else None


def flag_of(config: Field, name: str, default: bool) -> bool:
    return config.member(name).flag() if config.has(name) else default


def decoder_of(config: Field) -> list[Token]:
    """The entries of added_tokens_decoder by id, as a tokenizer.json has them."""
    if not config.has("added_tokens_decoder"):
        return []
    listed = config.member("added_tokens_decoder")
    found = []
    for name in listed.object():
        entry = listed.member(name)
        if not name.isdecimal() or len(name) > 10:
            raise entry.refused(f"{shown(name)} is no id")
        found.append({"id": int(name), **_token(entry)})
    return sorted(found, key=lambda token: int(token["id"]))


def _token(entry: Field, **defaults: bool) -> Token:
    """A token that a file names: a text, or an object with flags."""
    plain = dict.fromkeys(FLAGS, False) | defaults
    if isinstance(entry.value, str):
        return {"content": entry.text(), **plain}
    flags = {flag: entry.member(flag).flag() if entry.has(flag) else plain[flag] for flag in FLAGS}
    return {"content": entry.member("content").text(), **flags}


def named_in(config: Field) -> dict[str, Field]:
    """bos_token and its like: place -> value."""
    found = {}
    for name in config.object():
        value = config.value[name]
        if name.endswith("_token") and isinstance(value, (str, dict)):
            found[name] = config.member(name)
        elif name in _NAMED_LISTS and isinstance(value, list):
            found.update((entry.place, entry) for entry in config.member(name).items())
        elif name in _NAMED_LISTS and isinstance(value, dict):
            listed = config.member(name)
            found.update((f"{name}.{each}", listed.member(each)) for each in listed.object())
    return found


def content_of(entry: Field) -> str:
    return entry.text() if isinstance(entry.value, str) else entry.member("content").text()


class Named:
    """The special tokens of a folder.

    Args:
        folder: where the files lie.
        config: its tokenizer_config.json.
        defaults: places -> texts that the class has where no file names others.
        flags: of places that the class gives flags.
        extras: tokens that the class adds, unless the configuration names some.
    """

    def __init__(
        self,
        folder: str,
        config: Field,
        defaults: dict[str, str],
        flags: Mapping[str, dict[str, bool]] | None = None,
        extras: list[Token] | None = None,
    ) -> None:
        self.decoder = decoder_of(config)
        self._named = {
            place: {"content": text, **dict.fromkeys(FLAGS, False), "special": True, **(flags or {}).get(place, {})}
            for place, text in defaults.items()
            if place not in config.value
        }
        self._extras = list(extras or []) if not any(config.has(name) for name in _NAMED_LISTS) else []
        sources = [config, None if self.decoder else json_of(folder, "special_tokens_map.json")]
        for source in sources:
            for place, entry in {} if source is None else named_in(source).items():
                more = (flags or {}).get(place, {}) if isinstance(entry.value, str) else {}
                self._named[place] = _token(entry, special=True, **more) | {"special": True}
        self._check_map(folder)
        self._early = [] if self.decoder else self._plain(folder)

    def _check_map(self, folder: str) -> None:
        """special_tokens_map.json counts only where there is no added_tokens_decoder; what else it says is refused."""
        other = json_of(folder, "special_tokens_map.json") if self.decoder else None
        known = {*(token["content"] for token in self.decoder), *(token["content"] for token in self._named.values())}
        for entry in {} if other is None else named_in(other).values():
            if content_of(entry) not in known:
                raise entry.refused(
                    f"{shown(content_of(entry))} is named here and not in tokenizer_config.json, so that it does not "
                    "count: save the tokenizer anew with transformers"
                )

    def _plain(self, folder: str) -> list[Token]:
        """added_tokens.json, by id."""
        field = json_of(folder, "added_tokens.json")
        if field is None:
            return []
        special = {token["content"] for token in self._named.values()}
        found = []
        for text in field.object():
            is_special = text in special
            flags = dict.fromkeys(FLAGS, False) | {"normalized": not is_special, "special": is_special}
            found.append({"id": field.member(text).number(), "content": text, **flags})
        return sorted(found, key=lambda token: int(token["id"]))

    def text(self, place: str) -> str | None:
        """The token of a place, as "eos_token"; None: there is none."""
        token = self._named.get(place)
        return None if token is None else str(token["content"])

    def _all(self) -> Iterator[Token]:
        yield from self.decoder
        yield from self._early
        rest = [place for place in self._named if place not in _ORDER and place.endswith("_token")]
        for place in (*_ORDER, *rest):
            if place in self._named:
                yield self._named[place]
        yield from (token for place, token in self._named.items() if not place.endswith("_token") or "." in place)
        yield from self._extras

    def added(self, find: Callable[[str], int | None], size: int) -> list[Token]:
        """The entries of `added_tokens`: tokens of the vocabulary have their ids, others the next free ones.

        find: the id of a token of the vocabulary, or None. size: how many it has."""
        found: list[Token] = []
        known: set[str] = set()
        for token in self._all():
            content = token["content"]
            if not content or content in known:
                continue
            known.add(content)
            number = find(content)
            free, size = size, size + (number is None)
            found.append({"id": free if number is None else number, **token})
        return found
