"""Which added tokens are sought where: in the text as it was given, or in the normalized one; and what each takes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import VocabularyError, shown
from ..native.matcher import ALONE, TAKES_LEFT, TAKES_RIGHT, Matcher
from ..native.normal import Normalizer, NormalStream
from ..patterns import char_sets
from .description import AddedToken

MOST_LATE_BYTES = 1 << 21
"""Of all texts that late tokens are sought by, once they are normalized. Those of published models have 50,000 at most;
the tables that find them take some 50 bytes for each."""

_SLICE = 1 << 10  # characters of a text that are normalized at once

_WORK = 1 << 22
"""Characters of beginnings of tokens that are compared to find out whether all tokens can be sought at once."""


class AddedTokens:
    """The added tokens of a model.

    The reference seeks those with "normalized": false in the text first, then the others in what lies between, once
    it is normalized. Where that makes no difference all are sought at once (`at_once`), as special tokens of other
    encodings are.

    Args:
        added: as the file has them.
        steps: what is done to a text before late names are sought, as the argument `normalizer` of class Encoding.
        more: what is done to the text between late names.
        path: for errors.
        keeps_names: late names are sought as they are written: the steps leave them alone.

    Raises:
        VocabularyError: tokens of which the reference makes nothing certain.
    """

    def __init__(
        self,
        added: Sequence[AddedToken],
        steps: Sequence[tuple[object, ...]],
        more: Sequence[tuple[object, ...]],
        path: str,
        keeps_names: bool = False,
    ) -> None:
        self._added = {token.content: token for token in added}
        late = [token for token in added if token.normalized]
        self._late = self._late_texts(late, () if keeps_names else steps, path)
        self._check_blanks(path)
        self.at_once = not self._late or (not steps and self._can_be_joined())
        if steps and not self.at_once and any(step[0] == "PrependUnless" and step[2] for step in more):
            raise VocabularyError(
                f"added_tokens: {shown(next(iter(self._late)))}, with normalized true, is looked for between the "
                "normalizer and a Metaspace whose prepend_scheme is first: what begins a text then is not certain; it "
                "loads with normalized false, which gives other ids where only normalizing makes its text",
                path,
            )

    @property
    def has_rules(self) -> bool:
        """Whether names are sought in another way than special tokens of other encodings."""
        return not self.at_once or any(not token.is_plain for token in self._added.values())

    def _late_texts(self, late: list[AddedToken], steps: Sequence[tuple[object, ...]], path: str) -> dict[str, str]:
        """The texts that late tokens are sought by."""
        texts = (
            _normalized(late, Normalizer(steps), path) if steps else {token.content: token.content for token in late}
        )
        owners: dict[str, str] = {}
        for content, text in texts.items():
            if not text:
                raise VocabularyError(f"added_tokens: nothing is left of {shown(content)} once it is normalized", path)
            if text in owners:
                raise VocabularyError(
                    f"added_tokens: {shown(owners[text])} and {shown(content)} are the same once they are normalized: "
                    "which of them a text holds is not certain",
                    path,
                )
            owners[text] = content
        return texts

    def _check_blanks(self, path: str) -> None:
        """The reference fails where a token of white space alone is to take white space that another has taken."""
        if not any(token.rstrip for token in self._added.values()):
            return
        for content, token in self._added.items():
            if token.lstrip and self._late.get(content, content).isspace():
                raise VocabularyError(
                    f"added_tokens: {shown(content)} is white space with lstrip, and there are tokens with rstrip: "
                    "which of them takes the white space between them is not certain",
                    path,
                )

    def _can_be_joined(self) -> bool:
        """Whether late tokens can be sought with the others where nothing is normalized: they take nothing of the text
        beside them, none overlaps one of the others, and what the others take is nothing to it."""
        late = [self._added[content] for content in self._late]
        early = [token for content, token in self._added.items() if content not in self._late]
        if not early:
            return True
        if not all(token.is_plain for token in late) or any(token.single_word for token in early):
            return False  # late ones are also sought in one of the others that does not count
        if any(token.lstrip or token.rstrip for token in early) and any(t.content != t.content.strip() for t in late):
            return False
        return not _overlap([token.content for token in late], {token.content for token in early})

    def sought(self, name: str) -> Sought:
        """How a name is sought."""
        token = self._added[name]
        is_late = token.normalized and not self.at_once
        return Sought(self._late[name] if is_late else name, _flags(token), is_late)

    def decoded(self, token: AddedToken) -> str:
        """The text that its id decodes to: the reference takes the one that a late token is sought by."""
        return self._late.get(token.content, token.content)

    @property
    def skipped(self) -> set[int]:
        """The ids that skip_special_tokens leaves out. The reference compares what an id decodes to with the texts of
        special tokens."""
        special = {content for content, token in self._added.items() if token.special}
        return {token.id for token in self._added.values() if self.decoded(token) in special}

    def matcher(self, names: Sequence[str]) -> Matcher | None:
        """What finds these names; None for no names."""
        if not names:
            return None
        tokens = [self._added[name] for name in names]
        if self.at_once:
            return _matcher(tokens, names)
        late = [token for token in tokens if token.normalized]
        early = [token for token in tokens if not token.normalized]
        behind = _matcher(late, [self._late[token.content] for token in late]) if late else None
        return _matcher(early, [token.content for token in early], behind)


class Sought(NamedTuple):
    """The text that a name is sought by, what it takes of the text around it (native/matcher.pyx), and whether it is
    sought in normalized text."""

    text: str
    flags: int
    is_late: bool


def _flags(token: AddedToken) -> int:
    return TAKES_LEFT * token.lstrip + TAKES_RIGHT * token.rstrip + ALONE * token.single_word


def _normalized(late: list[AddedToken], normalizer: Normalizer, path: str) -> dict[str, str]:
    """The texts of tokens as the normalizer leaves them. VocabularyError: they have more than MOST_LATE_BYTES."""
    texts: dict[str, str] = {}
    total = 0
    for content in (token.content for token in late):
        stream = NormalStream(normalizer)
        parts = []
        for at in range(0, len(content) + _SLICE, _SLICE):
            parts.append(stream.feed(content[at : at + _SLICE]) if at < len(content) else stream.flush())
            total += len(parts[-1])
            if total > MOST_LATE_BYTES:
                raise VocabularyError(
                    f"added_tokens: with {shown(content)} the texts of tokens with normalized true have more than "
                    f"{MOST_LATE_BYTES} bytes together, once they are normalized",
                    path,
                )
        texts[content] = b"".join(parts).decode()
    return texts


def _matcher(tokens: Iterable[AddedToken], texts: Iterable[str], late: Matcher | None = None) -> Matcher:
    tokens = list(tokens)
    flags = list(map(_flags, tokens))
    words = None
    if any(token.single_word for token in tokens):
        words = array("I", [point for pair in char_sets.perl("w") for point in pair])
    return Matcher(texts, [token.id for token in tokens], flags if any(flags) else None, words, late)


def _overlap(late: list[str], early: set[str]) -> bool:
    """Whether one of `early` can begin inside of one of `late` or at its start; True also where telling takes long."""
    longest = max(map(len, late))
    if sum(min(len(content), longest) for content in early) * 2 > _WORK or longest * sum(map(len, late)) > _WORK:
        return True
    begun = {content[:n] for content in early for n in range(1, min(len(content), longest) + 1)}
    for content in late:
        if any(content[at:] in begun for at in range(len(content))):
            return True
        if any(content[at:end] in early for at in range(len(content)) for end in range(at + 1, len(content) + 1)):
            return True
    return False
