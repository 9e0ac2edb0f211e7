"""Sources by name, as of a language, and what the text of each weighs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any, NamedTuple

from ..errors import shown
from .inputs import AnyInput, open_inputs

_LEAST_FACTOR = 1000  # of weights that are no ratios of small numbers: they are off by a 2000th at most
_LARGEST_TERM = 10**6


def open_named(sources: Any) -> tuple[list[AnyInput], list[str]]:
    """The inputs, and the name of each: the key where sources is a dict, which gives names to sources, else its own."""
    if not isinstance(sources, Mapping):
        inputs = open_inputs(sources)
        return inputs, [each.name for each in inputs]
    if not sources:
        raise ValueError("there is nothing to train on: sources is empty")
    inputs, names = [], []
    for name, each in sources.items():
        if not isinstance(name, str):
            raise TypeError(f"a name in sources is of type {type(name).__name__}: names are str")
        opened = open_inputs(each)
        inputs += opened
        names += [name] * len(opened)
    return inputs, names


class Weights(NamedTuple):
    """What the pieces of each input count. factors: by input. unit: what a piece counts whose weight is 1."""

    factors: list[int]
    unit: int

    def as_json(self) -> dict[str, Any]:
        return {"weights": self.factors, "weight_unit": self.unit}


def weigh(
    inputs: list[AnyInput], names: list[str], weights: Mapping[str, Any] | None, temperature: float | None
) -> Weights | None:
    """The weights of inputs; None: each counts 1.

    weights: by name, or by a pattern with * ? or [ that names match; what none of them names has 1. temperature: the
    text of a name of n bytes weighs as n ** (1 / temperature) altogether, and all of them as much as before.
    """
    if weights is None and temperature is None:
        return None
    each = [Fraction(1)] * len(inputs) if weights is None else _given(names, weights)
    if temperature is None:
        return _whole_numbers(each)
    if not (isinstance(temperature, (int, float)) and 1 <= temperature < math.inf):
        raise ValueError(f"temperature={shown(temperature)}: write 1, where text weighs as much as there is, or more")
    sizes = _sizes(inputs, names)
    shares = {name: size ** (1 / temperature) for name, size in sizes.items() if size}
    scale = sum(sizes.values()) / sum(shares.values())
    by_name = {name: share * scale / sizes[name] for name, share in shares.items()}
    return _rounded([float(given) * by_name.get(name, 1.0) for given, name in zip(each, names)])


def _given(names: list[str], weights: Mapping[str, Any]) -> list[Fraction]:
    if not isinstance(weights, Mapping):
        raise TypeError(f"weights is of type {type(weights).__name__}: write a dict of names of sources to numbers")
    for key, value in weights.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            raise TypeError(f"the weight of {shown(key)} is of type {type(value).__name__}: write a number")
        if not 0 < value < math.inf:
            raise ValueError(
                f"the weight of {shown(key)} is {shown(value)}: write a number above 0, or leave the source out"
            )
        if not any(_is_named(name, key) for name in names):
            known = ", ".join(shown(name) for name in [*dict.fromkeys(names)][:4])
            raise ValueError(f"weights names {shown(key)}, which is no source: there are {known}")
    found = []
    for name in names:
        keys = [key for key in weights if key == name] or [key for key in weights if _is_named(name, key)]
        value = weights[keys[0]] if keys else 1
        found.append(Fraction(str(value)) if isinstance(value, float) else Fraction(value))
    return found


def _is_named(name: str, key: str) -> bool:
    return name == key or fnmatchcase(name, key)


def _sizes(inputs: list[AnyInput], names: list[str]) -> dict[str, int]:
    """Bytes on the disk by name."""
    sizes: dict[str, int] = {}
    for each, name in zip(inputs, names):
        if each.size is None:
            raise ValueError(
                f"temperature= goes by how much text there is, which is not known of {shown(name)} before it is read: "
                "give files, or write weights="
            )
        sizes[name] = sizes.get(name, 0) + each.size
    return sizes


def _whole_numbers(weights: list[Fraction]) -> Weights:
    """The smallest whole numbers with the same ratios, to each other and to 1; near ones where these would be large."""
    terms = [*weights, Fraction(1)]
    unit = math.lcm(*(each.denominator for each in terms))
    factors = [int(each * unit) for each in terms]
    shared = math.gcd(*factors)
    if max(factors) // shared > _LARGEST_TERM:
        return _rounded([*map(float, weights)])
    return Weights([factor // shared for factor in factors[:-1]], unit // shared)


def _rounded(weights: list[float]) -> Weights:
    least, most = min(*weights, 1.0), max(*weights, 1.0)
    if most > _LARGEST_TERM * least:
        raise ValueError(
            f"one text weighs {most / least:.0f} times as much as another: {_LARGEST_TERM} times is the most"
        )
    scale = _LEAST_FACTOR / least
    return Weights([round(each * scale) for each in weights], round(scale))
