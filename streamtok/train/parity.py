"""Parity-aware BPE (Foroutan et al., ACL 2026): each merge is the best one for the source that is compressed least."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import shown
from ..native.trainer import Trainer
from .options import Options
from .records import Store
from .run import Progress, Run

if TYPE_CHECKING:
    from .merges import Base

_STEPS = 64  # merges between two looks at the clock


@dataclass(frozen=True)
class Parity:
    """How train(parity=) chooses merges.

    Before each merge the source is found that is compressed least. The pair that stands most often in its text is
    merged next, in the texts of all sources. A source that has no pair left is passed over from then on.

    Attributes:
        held_out: texts to measure compression on, by the names of the sources: {"de": "dev.de", ...}. They are
            parallel: each says the same in another language, in as many documents; the source whose text has the most
            tokens is compressed least. None: the text that is trained on, and the source with the fewest bytes a token.
        window: of so many merges that were made last, none of the sources has chosen more than a share of
            `alpha` / number of sources; one that has is passed over. None: without this. The authors take 100.
        alpha: see window.
    """

    held_out: Mapping[str, Any] | None = None
    window: int | None = None
    alpha: float = 2.0


class ParityRun(Run):
    """A Run that counts the text of each source apart, and has a Trainer for each."""

    least_tokens = 1  # all of them are what is measured

    def __init__(
        self,
        sources: Any,
        wanted: int,
        options: Options,
        threads: int,
        progress: Callable[[Progress], object] | None,
        parity: Parity,
        base: Base | None = None,
    ) -> None:
        if not isinstance(sources, Mapping) or len(sources) < 2:
            raise ValueError(
                "parity goes by the names of sources: write a dict of two or more, as {'de': ..., 'sw': ...}"
            )
        held_out = parity.held_out
        if held_out is not None and held_out.keys() != sources.keys():
            odd = shown(min(held_out.keys() ^ sources.keys()))
            raise ValueError(f"{odd} is a name of sources or of held_out alone: each source has its held-out text")
        if parity.window is not None and parity.window < 1:
            raise ValueError(f"window={shown(parity.window)} of Parity: write 1 or more, or None")
        self.parity, self.sources, self._now = parity, [*sources], ""
        together: dict[str, Any] = {f"0 {name}": each for name, each in sources.items()}
        together |= {f"1 {name}": each for name, each in (held_out or {}).items()}
        super().__init__(together, wanted, options, threads, None, None, progress, base=base)

    def _reads(self, index: int) -> bool:
        is_read: bool = self.names[index] == self._now
        return is_read

    def _stages(self, scratch: str) -> tuple[Trainer, dict[str, object]]:
        texts = [self._text(scratch, 0, name) for name in self.sources]
        facts = dict(self.totals)
        measured = texts
        if self.parity.held_out is not None:
            measured = [self._text(scratch, 1, name) for name in self.sources]
        self.totals = facts
        learner = _Learner(texts, measured, self.parity, self.options.min_frequency)
        trainer = texts[0].trainer
        self._learn(trainer, learner)
        made = self._facts(trainer, sum(each.trainer.pieces for each in texts))
        made["last_merge_count"] = learner.last_count
        sizes = (each.trainer.size for each in measured)
        made["parity"] = {
            "merges": dict(zip(self.sources, learner.chosen)),
            "tokens": dict(zip(self.sources, sizes)),
        }
        return trainer, made

    def _text(self, scratch: str, kind: int, name: str) -> _Text:
        """The text of a source, counted and laid out."""
        self._now, before = f"{kind} {name}", dict(self.totals)
        folder = os.path.join(scratch, f"{kind}-{self.sources.index(name)}")
        os.makedirs(folder, exist_ok=True)
        blocks = self._count(Store(folder, durable=False))
        if self.totals["pieces"] == before["pieces"]:
            raise ValueError(
                f"there is no text in the {'held-out ' * kind}source {shown(name)}: nothing can be compared"
            )
        trainer = self._laid_out(blocks)
        trainer.begin_all()
        units = "documents" if self.parity.held_out is not None else "bytes"
        return _Text(trainer, self.totals[units] - before[units])

    def _least_count(self) -> int:
        return 0  # what is rare in one source may be merged for another


@dataclass
class _Text:
    trainer: Trainer
    units: int  # bytes, or documents


class _Learner:
    """Makes merges in all Trainers."""

    def __init__(self, texts: list[_Text], measured: list[_Text], parity: Parity, least: int) -> None:
        self._texts, self._measured, self._least = texts, measured, max(least, 1)
        trainers = [each.trainer for each in texts]
        self._all = trainers + [each.trainer for each in measured if each.trainer not in trainers]
        self._open = [*range(len(texts))]
        self.chosen = [0] * len(texts)
        self._window: deque[int] = deque(maxlen=parity.window)
        self._most = None if parity.window is None else parity.alpha / len(texts) * parity.window
        self.last_count = 0

    def run(self, goal: int, work: int) -> bool:
        """Makes some merges, `goal` altogether; returns True when there is nothing left to do."""
        main = self._texts[0].trainer
        for _ in range(min(_STEPS, goal - (main.count - main.given))):
            if not self._step():
                return True
        return main.count - main.given >= goal

    def _step(self) -> bool:
        while self._open:
            source = self._least_compressed()
            left, right, count = self._texts[source].trainer.best()
            if count < self._least:
                self._open.remove(source)
                continue
            for trainer in self._all:
                trainer.make(left, right)
            self.chosen[source] += 1
            self.last_count = count
            if self._most is not None:
                self._window.append(source)
            return True
        return False

    def _least_compressed(self) -> int:
        """The source with the most tokens for what it says; the first of equal ones."""
        passed = self._open
        if self._most is not None:
            passed = [source for source in passed if self._window.count(source) <= self._most] or passed
        worst, tokens, units = -1, 0, 1
        for source in passed:
            each = self._measured[source]
            size = each.trainer.size
            if worst < 0 or size * units > tokens * each.units:
                worst, tokens, units = source, size, each.units
        return worst


def run_of(
    sources: Any,
    wanted: int,
    options: Options,
    threads: int,
    progress: Callable[[Progress], object] | None,
    parity: Parity | bool,
    *,
    max_memory: int | None,
    checkpoint: Any,
    weights: Mapping[str, Any] | None,
    temperature: float | None,
    device: str = "cpu",
    base: Base | None = None,
) -> Run:
    """The Run of these arguments, with parity or without. Raises ValueError for arguments that do not go together."""
    if parity:
        _check_parity(device, max_memory=max_memory, checkpoint=checkpoint, weights=weights, temperature=temperature)
        return ParityRun(sources, wanted, options, threads, progress, Parity() if parity is True else parity, base)
    if weights is not None or temperature is not None:
        if device not in ("cpu", "auto"):
            raise ValueError(f"device={shown(device)} with weights: text is weighed on the CPU; write device='cpu'")
        device = "cpu"
    return Run(sources, wanted, options, threads, max_memory, checkpoint, progress, device, base, weights, temperature)


def _check_parity(device: str, **given: Any) -> None:
    """Raises ValueError for arguments that parity does not go with."""
    if device not in ("cpu", "auto"):
        raise ValueError(
            f"device={shown(device)} with parity: merges for parity are chosen on the CPU; write device='cpu'"
        )
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name}={shown(value)} with parity: that is not supported; leave out one of the two")
