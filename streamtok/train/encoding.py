"""The Encoding that train() returns, which knows how it was trained."""

from __future__ import annotations

from typing import Any

from ..core import Encoding


class TrainedEncoding(Encoding):
    """An Encoding that knows how it was trained.

    Args:
        name: as for Encoding.
        training: facts about the training, which save() writes beside the vocabulary; kept as the attribute `training`.
        arguments: the other arguments of Encoding.
    """

    _warns_without_pattern = False  # it was trained without one
    _sources: tuple[tuple[str, str | int | None], ...] = ()  # of the run that made it, which save() does not write over

    def __init__(self, name: str, *, training: dict[str, Any] | None = None, **arguments: Any) -> None:
        self.training: dict[str, Any] = {} if training is None else training
        super().__init__(name, **arguments)

    def _extras(self) -> dict[str, Any]:
        return {"training": self.training}
