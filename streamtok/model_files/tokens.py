"""From the lists of a model file to a vocabulary: which tokens text becomes, in which order pairs merge."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from ..bundled.mapped import build_vocabulary
from ..bundled.packed import MAX_RANK, PackedVocabulary, check_single_bytes
from ..errors import VocabularyError, shown
from ..native.listing import Listing

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..protocols import Ids


class Tokens:
    """The tokens and merges of a file.

    Args:
        listing: the tokens.
        merges: numbers of tokens (left, right, made), a row a merge, in the order of their ranks.
        path: the file, for errors.
    """

    def __init__(self, listing: Listing, merges: Ids, path: str) -> None:
        self.listing, self.merges, self.path = listing, merges, path
        self.ids = np.frombuffer(listing.ids, np.uint32)
        self.lengths = np.frombuffer(listing.lengths, np.uint32)
        self.order = np.argsort(self.ids, kind="stable")  # of numbers, by id
        self._check_ids()

    def _check_ids(self) -> None:
        if not len(self.ids):
            raise self.refused("model.vocab", "there are no tokens")
        if self.listing.find("") is not None:
            raise self.refused("model.vocab", "there is an empty token, which no text could ever hold")
        ids = self.ids[self.order]
        (twice,) = np.nonzero(ids[1:] == ids[:-1])
        if len(twice):
            names = [self.listing.text(int(self.order[twice[0] + i])) for i in (0, 1)]
            raise self.refused(
                "model.vocab",
                f"{shown(names[0])} and {shown(names[1])} both have id {ids[twice[0]]}; give each its own",
            )
        if ids[-1] > MAX_RANK:
            name = shown(self.listing.text(int(self.order[-1])))
            raise self.refused("model.vocab", f"the id of {name} is {ids[-1]}; ids go from 0 to {MAX_RANK}")

    def refused(self, place: str, reason: str) -> VocabularyError:
        return VocabularyError(f"{place}: {reason}", self.path)

    def find(self, token: str) -> int | None:
        """The id of a token as the file has it."""
        number = self.listing.find(token)
        return None if number is None else int(self.ids[number])

    def pack(self, keep_whole: bool, apart: set[str]) -> tuple[PackedVocabulary, dict[int, bytes]]:
        """(the tokens that text becomes, with their merges; the bytes of the others, by id).

        The order of the list has to be that of ids: then merging by ids is merging by the list. For let T be a token
        that merging by ids makes of its own bytes, by a last pair (l, r): that is the only pair by which it is ever
        made, in any text (csrc/pairs/pair_table.h). Where the list holds these pairs, in the order of ids, both merge
        the same pairs in the same order, and no other pair of the list is ever met.

        Args:
            keep_whole: a piece that is a token is never merged (ignore_merges): tokens that no merge makes count, too.
            apart: tokens that are found in another way, before text is split.
        """
        listed = self.lengths == 1
        listed[self.merges[:, 2]] = True
        made = listed | (self.lengths > 0) if keep_whole else listed.copy()
        for name in apart:
            number = self.listing.find(name)
            if number is not None and not listed[number]:
                made[number] = False
        packed = self._packed(made, None)
        splits = np.frombuffer(build_vocabulary(packed, {}).splits(), np.uint32)
        numbers = self.order[made[self.order]]
        self._check_order(numbers, splits)
        if not keep_whole:  # those that merging their own bytes does not give are never made
            gone = numbers[(splits == 0) & (self.lengths[numbers] > 1)]
            made[gone] = False
            splits = splits[made[numbers]]
        return self._packed(made, splits), self._others(made)

    def _packed(self, made: npt.NDArray[np.bool_], splits: Ids | None) -> PackedVocabulary:
        numbers = self.order[made[self.order]]
        starts = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=starts[1:])
        blob = self.listing.blob
        if (np.diff(numbers) == 1).all():
            joined = blob[starts[numbers[0]] : starts[numbers[-1] + 1]] if len(numbers) else b""
        else:
            joined = b"".join([blob[a:b] for a, b in zip(starts[numbers].tolist(), starts[numbers + 1].tolist())])
        lengths, ids = self.lengths[numbers], self.ids[numbers]
        singles = np.frombuffer(joined, np.uint8)[(np.cumsum(lengths) - lengths)[lengths == 1]]
        check_single_bytes([bytes([byte]) for byte in singles.tolist()], self.path)
        as_array = [array("I", numbers.tobytes()) for numbers in (lengths, ids)]
        return PackedVocabulary(
            joined, as_array[0], as_array[1], None if splits is None else array("I", splits.tobytes()), None
        )

    def _check_order(self, numbers: Ids, splits: Ids) -> None:
        """That the list holds the pairs by which tokens are made, in the order of ids."""
        left, _, made = self.merges.T
        ids = self.ids[made].astype(np.int64)
        (late,) = np.nonzero(ids[1:] < ids[:-1])
        if len(late):
            name = shown(self.listing.text(int(made[late[0] + 1])))
            raise self.refused(
                f"model.merges[{late[0] + 1}]",
                f"it makes {name}, whose id is lower than that of the merge in front: an order of merges of its own is "
                "not supported",
            )
        wanted = np.zeros(len(self.ids), np.uint32)
        wanted[numbers] = splits
        found = np.zeros(len(self.ids), bool)
        found[made[self.lengths[left] == wanted[made]]] = True
        lost = numbers[(splits > 0) & ~found[numbers]]
        if len(lost):
            name = shown(self.listing.text(int(lost[0])))
            raise self.refused(
                "model.merges", f"the merge that makes {name} of its parts by their ids is not in the list"
            )

    def _others(self, made: npt.NDArray[np.bool_]) -> dict[int, bytes]:
        """The bytes of tokens that no text becomes: those of their letters, or what the file has."""
        others = {}
        starts = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])
        for number in np.nonzero(~made)[0].tolist():
            letters = self.listing.blob[starts[number] : starts[number + 1]] if self.lengths[number] else None
            others[int(self.ids[number])] = letters or self.listing.text(number).encode()
        return others
