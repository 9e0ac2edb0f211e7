"""The mutants of csrc/, for mutate.py: where they are, and the source with a switch for each of them.

Building the core for each mutant would take hours. So all mutants of a run are in one build, and a number says which of
them is in force: `a < b` becomes `(ST_MUTANT(17) ? a <= b : a < b)`. What must be a constant cannot be switched, and is
left out: macros, static tables, labels of a switch, lengths of arrays.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence

import tree_sitter
import tree_sitter_c
from mutate import ROOT, Mutant
from tree_sitter import Node

# Of other machines; tables that tools/gen_*.py or the build write. csrc/cuda is not for a C compiler.
OUTSIDE = re.compile(r"csrc/(cuda/|.*neon|.*_tables\.[ch]$|.*_data\.h$)")

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPERATORS = {"+": "-", "-": "+", "&": "|", "|": "&", "&&": "||", "||": "&&", "<<": ">>", ">>": "<<"}

# Nodes whose insides the compiler wants to know.
CONSTANT = {
    "preproc_def",
    "preproc_function_def",
    "preproc_include",
    "enumerator",
    "array_declarator",
    "bitfield_clause",
    "attribute_specifier",
    "static_assert_declaration",
    "gnu_asm_expression",
    "sizeof_expression",
    "string_literal",
    "type_descriptor",
}
NUMBER = re.compile(r"(?:U?INT\d+_C\()?(0[xX][0-9a-fA-F]+|\d+)([uUlL)]*)")
WIDE = re.compile(r"U?INT\d+_C\(")  # a macro that pastes, so that its number is changed with it

Edit = tuple[Node, str, str]  # the node that is replaced, the operator, the new text


def sources() -> list[str]:
    """The files that are mutated, relative to the root."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.[ch]"))
    return [name for name in found if not OUTSIDE.match(name)]


def parse(text: bytes) -> Node:
    """The tree of a file. The one macro of the core that stands for keywords becomes these; places stay as they are."""
    text = text.replace(b"ST_FORCE_INLINE", b"static inline  ")
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language())).parse(text).root_node


def content(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


def is_static(node: Node) -> bool:
    """A static variable, whose initial value must be constant."""
    words = [content(child) for child in node.children if child.type == "storage_class_specifier"]
    return node.type == "declaration" and "static" in words


def walk(node: Node, inside: bool = False) -> Iterator[Node]:
    """The nodes in bodies of functions that may be switched, a parent before its children."""
    if (
        node.type in CONSTANT
        or is_static(node)
        or (node.type.startswith("preproc_") and not inside and not node.children)
    ):
        return
    if inside:
        yield node
    if WIDE.match(content(node)) and node.type == "call_expression":
        return
    inside = inside or node.type == "compound_statement"
    skipped = node.child_by_field_name("value") if node.type == "case_statement" else None
    if node.type in ("preproc_if", "preproc_ifdef", "preproc_elif"):
        skipped = node.child_by_field_name("condition") or node.child_by_field_name("name")
    for child in node.children:
        if skipped is None or child != skipped:
            yield from walk(child, inside)


def operands(node: Node) -> tuple[Node, Node, Node]:
    left, sign, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    assert left is not None and sign is not None and right is not None
    return left, sign, right


def of_binary(node: Node) -> Iterator[Edit]:
    left, sign, right = operands(node)
    name = content(sign)
    if name in COMPARISONS:
        yield node, "comparison", f"{content(left)} {COMPARISONS[name]} {content(right)}"
    elif name in OPERATORS:
        yield node, "operator", f"{content(left)} {OPERATORS[name]} {content(right)}"
    if name in ("+", "-"):
        yield node, "off by one", f"{content(node)} + 1"


def of_number(node: Node) -> Iterator[Edit]:
    match = NUMBER.fullmatch(content(node))
    if match:
        value, ending, head = int(match[1], 0), match[2], content(node)[: match.start(1)]
        yield node, "constant", f"{head}{value + 1}{ending}"
        if value:
            yield node, "constant", f"{head}{value - 1}{ending}"


def of_choice(node: Node) -> Iterator[Edit]:
    """`if`, `while` and `?:`: the other way round."""
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "parenthesized_expression":
        yield condition, "swapped branch", f"(!{content(condition)})"
    elif condition is not None and node.type == "conditional_expression":
        yield condition, "swapped branch", f"!({content(condition)})"


def of_statement(node: Node) -> Iterator[Edit]:
    if content(node).strip() not in ("", ";") and not content(node).startswith("(void)"):
        yield node, "dropped statement", ""


def of_index(node: Node) -> Iterator[Edit]:
    index = node.child_by_field_name("index")
    if index is not None:
        yield index, "off by one", f"({content(index)}) + 1"


RULES = {
    "binary_expression": of_binary,
    "number_literal": of_number,
    "call_expression": of_number,
    "if_statement": of_choice,
    "while_statement": of_choice,
    "do_statement": of_choice,
    "conditional_expression": of_choice,
    "expression_statement": of_statement,
    "break_statement": of_statement,
    "continue_statement": of_statement,
    "subscript_expression": of_index,
}


def function_of(node: Node) -> str:
    at: Node | None = node
    while at is not None and at.type != "function_definition":
        at = at.parent
    named = re.search(r"(\w+)\s*\(", content(at.child_by_field_name("declarator"))) if at is not None else None
    return named[1] if named else ""


def mutants_of(name: str) -> list[Mutant]:
    text = (ROOT / name).read_bytes()
    lines = text.decode().splitlines()
    found = []
    for node in walk(parse(text)):
        for target, operator, new in RULES.get(node.type, lambda _: ())(node):
            if "\n#" in content(target):
                continue  # around lines of the preprocessor
            line = target.start_point[0] + 1
            span = (target.start_byte, target.end_byte)
            source = lines[line - 1].strip()
            found.append(Mutant(name, line, function_of(target), operator, content(target), new, *span, source))
    return found


# ==== The source with switches ====


def switched(text: bytes, numbered: Iterable[tuple[int, Mutant]]) -> bytes:
    """The text of a file in which the mutants, each with its number, are behind switches. They lie in each other or
    apart."""
    order = sorted(numbered, key=lambda pair: (pair[1].start, -pair[1].end, pair[0]))

    def part(start: int, end: int, inside: list[tuple[int, Mutant]]) -> bytes:
        made, at = b"", start
        while inside:
            first = inside[0][1]
            here = [pair for pair in inside if (pair[1].start, pair[1].end) == (first.start, first.end)]
            within = [pair for pair in inside if pair[1].end <= first.end and pair not in here]
            inside = inside[len(here) + len(within) :]
            made += text[at : first.start] + switches(here, part(first.start, first.end, within))
            at = first.end
        return made + text[at:end]

    return part(0, len(text), order)


def switches(here: Sequence[tuple[int, Mutant]], plain: bytes) -> bytes:
    for number, mutant in here:
        if mutant.operator == "dropped statement":
            plain = b"{ if (!ST_MUTANT(%d)) { %s } }" % (number, plain)
        else:
            changed = mutant.new.replace("\n", " ").encode()  # lines keep their numbers
            plain = b"(ST_MUTANT(%d) ? (%s) : (%s))" % (number, changed, plain)
    return plain


def write_switched(folder: pathlib.Path, mutants: Sequence[Mutant]) -> None:
    """A copy of csrc/ in the folder. Mutant i has the number i + 1."""
    by_file: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in enumerate(mutants, 1):
        by_file.setdefault(mutant.file, []).append((number, mutant))
    for path in (ROOT / "csrc").rglob("*.[ch]"):
        name = path.relative_to(ROOT).as_posix()
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_bytes()
        if name in by_file:
            text = b'#include "base/mutant.h"\n#line 1\n' + switched(text, by_file[name])
        write(copy, text)
    write(folder / "csrc" / "base" / "mutant.h", HEADER.encode())
    write(folder / "csrc" / "base" / "mutant.c", SWITCH.encode())


def write(path: pathlib.Path, text: bytes) -> None:
    """A file that does not change keeps its time, so that what was made of it is not made again."""
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


HEADER = """#ifndef ST_BASE_MUTANT_H
#define ST_BASE_MUTANT_H
extern __attribute__((visibility("hidden"))) int st_mutant;
__attribute__((visibility("hidden"), cold, noinline)) int st_mutant_reach(int number);
/* Whether the mutant is in force. Below 0: none is, but those that run are noted. */
#define ST_MUTANT(k) \\
    (__builtin_expect(st_mutant == (k), 0) || (__builtin_expect(st_mutant < 0, 0) && st_mutant_reach(k)))
#endif
"""

SWITCH = """#define _GNU_SOURCE
#include "base/mutant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 65536

int st_mutant;
static unsigned char nowhere[MOST], *reached = nowhere; /* a byte for each mutant, in a file that processes share */

int st_mutant_reach(int number)
{
    reached[number] = 1;
    return 0;
}

__attribute__((visibility("default"))) void st_mutant_set(int number, const char *path)
{
    const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *shared = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        reached = shared == MAP_FAILED ? nowhere : shared;
        close(file);
    }
    st_mutant = number;
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("STREAMTOK_MUTANT");
    if (number)
        st_mutant_set(atoi(number), getenv("STREAMTOK_MUTANT_REACHED"));
}
"""
