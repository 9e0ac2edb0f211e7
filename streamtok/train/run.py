"""One training run: read and count, learn merges, make the encoding; with progress, and points to go on from."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import warn_user
from ..native.matcher import Matcher
from ..native.steps import after_all
from ..native.trainer import Trainer
from .checkpoint import Checkpoint
from .counting import Counting
from .encoding import TrainedEncoding
from .gpu.placement import Placement
from .inputs import CHUNK, How, Place
from .options import BASE_MEMORY, Options, core_splitter
from .records import Blocks, Store
from .sources import open_named, weigh

if TYPE_CHECKING:
    from .gpu.count import DeviceCounting
    from .merges import Base

CHECKPOINT_SECONDS = 60.0
"""Seconds between two points to go on from: the most that a crash costs, and much more than writing a point takes."""

_NOTHING = {"pieces": 0, "bytes": 0, "documents": 0}

_WORK = 1 << 23  # places read between two looks at the clock: some tens of milliseconds


@dataclass(frozen=True)
class Progress:
    """What progress= is called with.

    Attributes:
        stage: "count", then "merge".
        done: bytes of files on the disk that are read, then merges that are made.
        total: what `done` will be at the end of the stage; None where it is not known.
        rate: of `done`, a second.
        text_bytes: bytes of text read so far.
        merges: number of merges so far.
        seconds: since the run began.
        remaining: seconds that the stage will still take; None where it cannot tell. Later merges are cheaper than
            earlier ones, so the figure is rather too high.
    """

    stage: str
    done: int
    total: int | None
    rate: float
    text_bytes: int
    merges: int
    seconds: float
    remaining: float | None


class Run:
    """Holds the stages of one call of train() together."""

    least_tokens = 2
    """Of a piece that the trainer reads, where the run has a base: in one token there is nothing to merge."""

    def __init__(
        self,
        sources: Any,
        wanted: int,
        options: Options,
        threads: int,
        max_memory: int | None,
        checkpoint: Any,
        progress: Callable[[Progress], object] | None,
        device: str = "cpu",
        base: Base | None = None,
        weights: Mapping[str, Any] | None = None,
        temperature: float | None = None,
    ) -> None:
        self.options, self.wanted, self.threads, self.base = options, wanted, threads, base
        self.max_memory, self.progress = max_memory, progress
        self.inputs, self.names = open_named(sources)
        self.weights = weigh(self.inputs, self.names, weights, temperature)
        special = Matcher(options.special_tokens) if options.special_tokens else None
        cuts = core_splitter(options.pat_str)
        sums, aside = checkpoint is not None, device == "cpu" and threads > 1
        self.how = How(
            options.documents, options.key, options.errors, special, cuts, sums, aside, options.column, options.nulls
        )
        self.began = time.monotonic()
        self.totals = dict(_NOTHING)
        self.folder = None if checkpoint is None else os.fspath(checkpoint)
        self.checkpoint: Checkpoint | None = None
        self.stopped = False
        self._factor: tuple[int, ...] = ()  # of the input that is read
        self.placement = Placement(device, options.pat_str)

    def run(self) -> tuple[Trainer, dict[str, object]]:
        """(the trainer with all it has learned, facts of the run)."""
        scratch = tempfile.mkdtemp(prefix="streamtok-train-")
        endings = self._close, partial(_remove, scratch), self._notice_no_more
        return after_all(partial(self._run, scratch), *endings, *endings)  # twice: they may be interrupted, too

    def _run(self, scratch: str) -> tuple[Trainer, dict[str, object]]:
        self._notice_interrupt()
        if self.folder is not None:
            self.checkpoint = Checkpoint(self.folder, self._identity(), self.inputs)
        try:
            self.placement.choose([each.size for each in self.inputs], self.max_memory)
            return self._stages(scratch)
        except RuntimeError as error:
            if not self.placement.gives_way(error):
                raise
        return self._stages(scratch)

    def _close(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.close()

    def _stages(self, scratch: str) -> tuple[Trainer, dict[str, object]]:
        point = self.checkpoint
        self.totals = dict(_NOTHING if point is None else point.totals)
        if point is not None and point.pieces is not None:
            pieces = point.pieces
        else:
            pieces = self._count(Store(scratch, durable=False) if point is None else point.store)
        trainer, learner, distinct = self._prepare(pieces)
        pieces.drop()
        self._learn(trainer, learner)
        return trainer, self._facts(trainer, distinct)

    def _identity(self) -> dict[str, object]:
        options = self.options.as_json() | self.base_facts | self._weight_facts
        return {"options": options, "inputs": [each.fingerprint for each in self.inputs]}

    @property
    def _weight_facts(self) -> dict[str, Any]:
        return {} if self.weights is None else self.weights.as_json()

    @property
    def base_facts(self) -> dict[str, Any]:
        """What the run goes on from; nothing where it begins with bytes."""
        return {} if self.base is None else self.base.facts

    def _facts(self, trainer: Trainer, distinct: int) -> dict[str, object]:
        facts = {"streamtok": __version__, **self.options.as_json(), **self.totals}
        del facts["pattern"], facts["special_tokens"]
        facts.update(
            self._weight_facts,
            distinct_pieces=distinct,
            merges=trainer.count - trainer.given,
            last_merge_count=trainer.last_count,
        )
        return facts

    # ---- Ctrl-C ----

    def _notice_interrupt(self) -> None:
        """The first Ctrl-C ends the run at the next place that it can go on from, the second at once. A handler of the
        program, or none, is not replaced."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: object) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True

    def _notice_no_more(self) -> None:
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupted(self) -> KeyboardInterrupt:
        if self.checkpoint is None:
            return KeyboardInterrupt("stopped; without checkpoint= nothing is kept")
        return KeyboardInterrupt(
            f"stopped; what was done is in {self.folder}: call train() again with the same arguments to go on"
        )

    # ---- counting ----

    def _budget(self) -> int | None:
        """Bytes for tables: max_memory less what is read ahead. 5/8: a table is copied while it is written."""
        if self.max_memory is None:
            return None
        return max((self.max_memory - BASE_MEMORY - 6 * self.threads * CHUNK) * 5 // 8, 0)

    def _count(self, store: Store) -> Any:
        """Blocks of all pieces, or DevicePieces."""
        point = self.checkpoint
        start = Place() if point is None or point.place is None else point.place
        before = dict(self.totals)
        host = Counting(self.options.pat_str, self.how, self.threads, self._budget(), store)
        counting = self.placement.counting(host)

        def counted() -> Any:
            self._read(counting, start, before)
            self.totals = self._sum(counting, before)
            if not self.totals["pieces"]:
                raise ValueError("there is no text in the sources: nothing can be learned from it")
            return counting.finish(None if point is None else point.pieces_path)

        pieces = after_all(counted, counting.stop, counting.stop)
        if point is not None:
            point.save_pieces(pieces, self.totals)
        else:
            store.clear()
        return pieces

    def _read(self, counting: Counting | DeviceCounting, start: Place, before: dict[str, int]) -> None:
        """Count all text from `start` on."""
        saved = time.monotonic()
        after: Place | None = None  # everything before it is counted, nothing after it
        try:
            for stretch, read in self._stretches(start):
                after = None
                counting.put(stretch, *self._factor)
                after = stretch.after
                before["documents"] += len(stretch.texts) if stretch.ends else 0
                self._tell_count(counting, before, read)
                if self.stopped or time.monotonic() - saved > CHECKPOINT_SECONDS:
                    self._keep(counting, before, after)
                    saved = time.monotonic()
                if self.stopped:
                    raise self._interrupted()
        except (OSError, ValueError):  # a source fails: the counts of the text before it are kept
            with contextlib.suppress(OSError, ValueError):
                self._keep(counting, before, after)
            raise
        counting.drain()

    def _keep(self, counting: Counting | DeviceCounting, before: dict[str, int], after: Place | None) -> None:
        if self.checkpoint is not None and after is not None:
            counting.spill()
            self.checkpoint.save_place(after, self._sum(counting, before))

    def _sum(self, counting: Counting | DeviceCounting, before: dict[str, int]) -> dict[str, int]:
        return {
            "pieces": before["pieces"] + counting.pieces,
            "bytes": before["bytes"] + counting.text_bytes,
            "documents": before["documents"],
        }

    def _reads(self, index: int) -> bool:
        """Whether the input of that number is counted now."""
        return True

    def _stretches(self, start: Place) -> Iterator[tuple[Any, int]]:
        done = 0
        for index, each in enumerate(self.inputs):
            if index >= start.input and self._reads(index):
                self._factor = () if self.weights is None else (self.weights.factors[index],)
                place = start if index == start.input else Place(index)
                for stretch, read in each.stretches(index, place, self.how):
                    yield stretch, done + read
            done += each.size or 0

    def _tell_count(self, counting: Counting | DeviceCounting, before: dict[str, int], read: int) -> None:
        if self.progress is None:
            return
        sizes = [each.size for each in self.inputs]
        total = None if None in sizes else sum(filter(None, sizes))
        seconds = time.monotonic() - self.began
        rate = read / seconds if seconds else 0.0
        remaining = (total - read) / rate if total is not None and rate else None
        text_bytes = before["bytes"] + counting.text_bytes
        self.progress(Progress("count", read, total, rate, text_bytes, 0, seconds, remaining))

    # ---- merging ----

    def _prepare(self, pieces: Any) -> tuple[Trainer, Any, int]:
        """A trainer, what learns (itself, or a device), and how many pieces there are."""
        placement, text_bytes = self.placement, self.totals["bytes"] + self.totals["pieces"]
        if isinstance(pieces, Blocks):
            trainer = self._laid_out(pieces)
            trainer.begin(0 if self.checkpoint is None else self.checkpoint.load_state(trainer, self.wanted))
            if placement.device is None:
                return trainer, trainer, trainer.pieces
            learner = placement.learner(None, trainer, None, self.wanted, self.options, text_bytes)
            return trainer, learner, trainer.pieces
        trainer, distinct = self._trainer(), pieces.distinct
        rest = self._laid_out(pieces.rest)
        distinct += rest.pieces
        learner = placement.learner(pieces, trainer, rest, self.wanted, self.options, text_bytes)
        return trainer, learner, distinct

    def _trainer(self) -> Trainer:
        options = self.options
        trainer = Trainer(options.alphabet, self.wanted, options.ties, options.max_token_bytes, self._least_count())
        if self.base is not None:
            self.base.give_to(trainer)
        return trainer

    def _least_count(self) -> int:
        """The least count of a pair that the trainer merges."""
        return self.options.min_frequency * (1 if self.weights is None else self.weights.unit)

    def _records(self, pieces: Blocks) -> Iterable[bytes]:
        """Records as the trainer reads them."""
        return pieces if self.base is None else self.base.in_tokens(pieces, self.threads, self.least_tokens)

    def _laid_out(self, pieces: Blocks) -> Trainer:
        trainer = self._trainer()
        for block in self._records(pieces):
            trainer.measure(block)
        trainer.limit_lists(self._most_lists(trainer.places))
        trainer.lay_out()
        for block in self._records(pieces):
            trainer.place(block)
        trainer.finish()
        return trainer

    def _most_lists(self, places: int) -> int:
        """Places that the lists of pairs may hold."""
        if self.max_memory is None:
            return (1 << 62) - 1
        # The text, a 32nd of it for the map to counts, a sketch and tables of pairs.
        left = self.max_memory - BASE_MEMORY - places * 4 - places // 8 - (24 << 20)
        if left < places // 2:
            raise ValueError(
                f"max_memory={self.max_memory} is too little for the {places} bytes of distinct pieces: write at least "
                f"{BASE_MEMORY + (24 << 20) + places * 5}; what was counted is kept where checkpoint= is given"
            )
        return left // 4

    def _learn(self, trainer: Trainer, learner: Any) -> None:
        began, first, saved = time.monotonic(), trainer.count, time.monotonic()
        goal = self.wanted - trainer.given
        done = trainer.count >= self.wanted
        while not done:
            done = learner.run(goal, _WORK)
            now = time.monotonic()
            if self.progress is not None:
                merges, rate = trainer.count - trainer.given, (trainer.count - first) / max(now - began, 1e-9)
                remaining = (goal - merges) / rate if rate else None
                spent = now - self.began
                self.progress(Progress("merge", merges, goal, rate, self.totals["bytes"], merges, spent, remaining))
            if self.checkpoint is not None and (done or self.stopped or now - saved > CHECKPOINT_SECONDS):
                if learner is not trainer:
                    learner.keep()
                self.checkpoint.save_state(trainer)
                saved = time.monotonic()
            if self.stopped and not done:
                raise self._interrupted()


def make_encoding(
    trainer: Trainer, options: Options, vocab_size: int, name: str, facts: dict[str, object]
) -> TrainedEncoding:
    """The encoding of what was learned. Special tokens have the first ids where Hugging Face's trainer gives them
    those, else the last."""
    special = len(options.special_tokens)
    count = trainer.count
    first = special if options.ties == "huggingface" else 0
    if count + special < vocab_size:
        warn_user(
            f"the text has no more than {count - 256} merges: the vocabulary has {count + special} tokens, "
            f"not {vocab_size}"
        )
    return TrainedEncoding(
        name,
        pat_str=options.pat_str,
        mergeable_ranks={trainer.token(token): first + token for token in range(count)},
        special_tokens={
            text: i + (0 if first or not special else count) for i, text in enumerate(options.special_tokens)
        },
        training=facts,
    )


def _remove(folder: str) -> None:
    """Remove a folder of files, if it is still there."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            (_remove if os.path.isdir(path) else os.unlink)(path)
        os.rmdir(folder)
