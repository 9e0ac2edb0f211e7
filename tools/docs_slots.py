"""A griffe extension: the documentation that a class keeps in a dict of __slots__, where help() finds it too, methods
that a class has by a name, as `encode = texts.encode`, examples (`>>> `) as blocks of code, and several arguments with
one text."""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

import griffe


class SlotDocs(griffe.Extension):
    """Gives each slot that has a text an entry of its own."""

    def on_class_members(self, *, node: Any, cls: griffe.Class, **_: Any) -> None:
        if not isinstance(node, ast.AST):
            return
        for statement in ast.walk(node):
            if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "__slots__":
                texts = ast.literal_eval(statement.value)
                for name, text in texts.items() if isinstance(texts, dict) else ():
                    if text:
                        self._document(cls, name, griffe.Docstring(_dedented(text), lineno=statement.lineno))

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Puts the function in the place of each such name, gives a property (`property(texts.name)`) the text of its
        function, and puts fences around examples."""
        for module in [pkg, *(each for each in pkg.modules.values() if not each.is_alias)]:
            for cls in (each for each in module.classes.values() if not each.is_alias):
                for name, member in list(cls.members.items()):
                    value = str(member.value) if member.is_attribute and not member.is_alias else ""
                    parts = value.removeprefix("property(").removesuffix(")").split(".")
                    if len(parts) == 2 and parts[0] in module.members:
                        found = pkg.modules_collection[f"{module.resolve(parts[0])}.{parts[1]}"]
                        if value.startswith("property("):
                            member.docstring, member.value = found.docstring, None
                        elif found.is_function:
                            method = copy.copy(found)
                            method.name, method.lineno, method.endlineno = name, member.lineno, member.endlineno
                            cls.set_member(name, method)
        _fence(pkg)

    @staticmethod
    def _document(cls: griffe.Class, name: str, text: griffe.Docstring) -> None:
        if name not in cls.members:
            cls.set_member(name, griffe.Attribute(name, parent=cls))
        member = cls.members[name]
        member.docstring, text.parent = text, member
        member.labels.discard("class-attribute")


def _dedented(text: str) -> str:
    """The text without the indentation of its later lines, and without its first line, the call that help() needs."""
    first, _, rest = text.partition("\n")
    if first.endswith(")") and rest:
        first, rest = "", rest
    lines = rest.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join([first, *(line[margin:] for line in lines)]).strip()


# Several arguments, or exceptions, with one text: `key, errors: as for train()`.
_SEVERAL = re.compile(r"^ {4}(\w+(?:,\s+\w+)+): (.+(?:\n {5,}.+)*)", re.M)


def _one_each(found: re.Match[str]) -> str:
    return "\n".join(f"    {name}: {found[2]}" for name in re.split(r",\s+", found[1]))


def _fence(item: griffe.Object) -> None:
    """Makes blocks of code of the examples in the docstrings of an object and of all that is in it."""
    if item.docstring:
        item.docstring.value = _SEVERAL.sub(_one_each, _fenced(item.docstring.value))
    for member in item.members.values():
        if not member.is_alias:
            _fence(member)


def _fenced(text: str) -> str:
    """An example goes from a line that begins with `>>> ` to the next empty line."""
    lines, inside = list[str](), False
    for line in text.split("\n"):
        begins = line.lstrip().startswith(">>> ") and not inside
        if begins:
            margin = line[: len(line) - len(line.lstrip())]
            lines += ["", f"{margin}```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append(f"{margin}```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, f"{margin}```"] if inside else lines)
