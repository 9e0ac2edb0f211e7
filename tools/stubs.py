"""Writes the stub of each Cython module, NAME.pyi beside NAME.pyx; the build runs it.

A stub has the classes, functions, properties and constants of a module. Their types are the annotations in the .pyx,
which Cython leaves alone, and where there is none what the C types say: `size_t n` is an int, and `Coder coder` a Coder
or None, unless it is `not None`. A function without an annotation returns None.

`#: ...` in a .pyx is copied as it is: aliases, type variables, overloads of the function that follows. Behind an
attribute it is the type.
"""

from __future__ import annotations

import pathlib
import re

HEAD = """\
# Made of {name}.pyx by tools/stubs.py.
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, Self, disjoint_base

"""
INTS = re.compile(r"u?int\d+_t|uintptr_t|size_t|Py_ssize_t|(unsigned )?(char|int|long|long long)|unsigned")
OTHERS = {"bint": "bool", "double": "float", "float": "float", "object": "Any", "void": "None"}
SPECIAL = {"__len__": "int", "__bytes__": "bytes", "__repr__": "str", "__reduce__": "tuple[Any, ...]"}
NEVER = ("__dealloc__", "__del__", "__releasebuffer__")
LITERAL = re.compile(r"-?\d+|None|True|False|\"[^\"]*\"|b\"[^\"]*\"")


def python_type(c_type: str, never_none: bool) -> str:
    """What a type of Cython is in a stub."""
    c_type = c_type.removeprefix("const ").strip()
    if INTS.fullmatch(c_type):
        return "int"
    return OTHERS.get(c_type) or (c_type if never_none else f"{c_type} | None")


def split_outside(text: str, at: str) -> list[str]:
    """Cuts a text at a character that is in no brackets."""
    parts, depth = [""], 0
    for each in text:
        depth += (each in "([{") - (each in ")]}")
        if each == at and not depth:
            parts.append("")
        else:
            parts[-1] += each
    return parts


def parameter(text: str) -> str:
    """A parameter of a def as a stub has it."""
    text, *default = split_outside(text.strip(), "=")
    text, *annotation = split_outside(text, ":")
    never_none = text.rstrip().endswith("not None")
    c_type, _, name = text.strip().removesuffix("not None").strip().rpartition(" ")
    if name in ("self", "cls", "*", "/"):
        return name
    value = default[0].strip() if default else ""
    never_none = never_none or value not in ("", "None")
    made = f"{name}: {annotation[0].strip() if annotation else python_type(c_type or 'object', never_none)}"
    if value:
        made += f" = {value if LITERAL.fullmatch(value) else '...'}"
    return made


def signature(lines: list[str], at: int) -> tuple[str, int]:
    """A def from line `at` on, up to its colon, as one line; and the first line behind it."""
    text = ""
    while True:
        text += f" {lines[at].strip()}"
        at += 1
        if text.count("(") == text.count(")") and (found := re.fullmatch(r"(.*):\s*(#.*)?", text)):
            return found[1].strip(), at


def parts(text: str) -> tuple[str, str, list[str], str]:
    """The C type, the name, the parameters and the annotation of a def or cpdef."""
    found = re.fullmatch(r"(?:def|cpdef)\s+(?:(.*?)\s)?(\w+)\((.*?),?\s*\)\s*(?:->\s*(.*))?", text)
    assert found, text
    return found[1] or "", found[2], [each for each in split_outside(found[3], ",") if each.strip()], found[4] or ""


def function(text: str) -> str:
    """The stub of a def or cpdef."""
    c_type, name, given, result = parts(text)
    parameters = [parameter(each) for each in given]
    if name == "__cinit__":
        return f"def __new__({', '.join(['cls', *parameters[1:]])}) -> Self: ..."
    if name == "__getbuffer__":
        return "def __buffer__(self, flags: int, /) -> memoryview: ..."
    if name == "__getitem__":
        parameters.append("/")
    result = result or SPECIAL.get(name) or (python_type(c_type, True) if c_type else "None")
    return f"def {name}({', '.join(parameters)}) -> {result}: ..."


def attributes(line: str) -> list[str]:
    """The attributes that a line of a cdef class lets Python see."""
    line, _, said = line.partition("#:")
    found = re.match(r"    cdef (?:readonly|public) (\w+) ([^#]*)", line)
    if not found:
        return []
    return [f"    {name.strip()}: {said.strip() or python_type(found[1], True)}" for name in found[2].split(",")]


def body(source: str, declared: dict[str, list[str]], bases: set[str]) -> list[str]:
    """The lines of a stub, behind its imports. declared: of each class of the .pxd, its attributes; bases: classes that
    others inherit."""
    lines = re.sub(r'(?s)""".*?"""', "", source).splitlines()
    out: list[str] = []
    before: list[str] = []  # decorators of what follows, or "#:" where its stub was said
    inside, at = False, 0  # inside: a class
    while at < len(lines):
        line = lines[at]
        at += 1
        inside = inside and line[:1] in (" ", "#", "")
        if said := re.match(r"( *)#: ?(.*)", line):
            out.append(said[1] + said[2])
            before.append("#:")
        elif re.match(r" *@(property|staticmethod)$", line):
            before.append(line)
        elif found := re.match(r"(cdef )?class (\w+)(?:\((.*)\))?:(?:  #: (.*))?", line):
            of = f"({found[3] or found[4]})" if found[3] or found[4] else ""
            out += ["@disjoint_base" if found[2] in bases else "@final"] if found[1] else []
            out += [f"class {found[2]}{of}:", *declared.get(found[2], [])]
            inside, before = True, []
        elif found := re.match(r"    (?:cp)?def " if inside else r"(?:cp)?def ", line):
            text, at = signature(lines, at - 1)
            if "#:" not in before and parts(text)[1] not in NEVER:
                out += [*before, line[: len(line) - len(line.lstrip())] + function(text)]
            before = []
        else:
            out += attributes(line) if inside else []
            if found := re.match(r"([A-Z]\w*): (.*?) = ", line):
                out.append(f"{found[1]}: {found[2]}")
            elif found := re.match(r"from (\.\w+) import (.*)", line):
                out += [f"from {found[1]} import {n} as {n}" for n in found[2].split(", ") if n.isupper()]
            before = []
    return out


def with_bodies(lines: list[str]) -> list[str]:
    """`...` for each class that has nothing."""
    made: list[str] = []
    for line, behind in zip(lines, [*lines[1:], ""]):
        made.append(f"{line} ..." if line.startswith("class ") and not behind.startswith("    ") else line)
    return made


def stubs(folder: pathlib.Path) -> dict[str, str]:
    """Name of a module -> its stub."""
    declared: dict[str, list[str]] = {}
    for path in folder.glob("*.pxd"):
        name = ""
        for line in path.read_text("utf-8").splitlines():
            found = re.match(r"cdef class (\w+)", line)
            name = found[1] if found else name if line.startswith((" ", "#")) or not line else ""
            if name:
                declared.setdefault(name, []).extend(attributes(line))
    sources = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.pyx"))}
    bases = set(re.findall(r"^cdef class \w+\((\w+)\)", "\n".join(sources.values()), re.M))
    bodies = {module: body(source, declared, bases) for module, source in sources.items()}
    owner = {}
    for module, lines in bodies.items():
        for line in lines:
            if found := re.match(r"class (\w+)|(_\w+)(?:: TypeAlias)? = ", line):
                owner.setdefault(found[1] or found[2], module)
    made = {}
    for module, lines in bodies.items():
        used = set(re.findall(r"\w+", "\n".join(lines)))
        own = {found[1] for line in lines if (found := re.match(r"class (\w+)", line))}
        imports = [f"from .{owner[n]} import {n}" for n in sorted(used & owner.keys() - own) if owner[n] != module]
        made[module] = HEAD.format(name=module) + "\n".join([*imports, "", *with_bodies(lines)]) + "\n"
    return made


def write(folder: pathlib.Path) -> None:
    for name, text in stubs(folder).items():
        path = folder / f"{name}.pyi"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
