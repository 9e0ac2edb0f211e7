"""The mutants of a Python or Cython file: small changes, each of which a test should notice.

A mutant replaces one stretch of a file: a comparison, a constant, an operator, a statement or a condition. What no test
should hold fast is left alone: docstrings, annotations, blocks under TYPE_CHECKING, what __repr__ writes, the wording
of errors (what a raise, a warning or a function named *_error or *_message says), and texts with spaces.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from mutate import Mutant

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
WORDING = re.compile(r"(_error|_message|^warn\w*|Error|Warning|^shown|^shortened|^cast|TypeVar|NewType)$")
"""Calls whose arguments are wording or types."""


# ==== Python ====


def left_alone(tree: ast.Module) -> set[ast.AST]:
    """The roots of what is not changed."""
    alone: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            alone |= _quiet_parts(node)
        elif isinstance(node, (ast.AnnAssign, ast.arg)):
            alone |= {node.annotation} if node.annotation else set()
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            alone.add(node)
        elif isinstance(node, ast.Assign) and _is_for_types(node):
            alone.add(node)
        elif isinstance(node, ast.Raise):
            alone |= set(ast.iter_child_nodes(node))
        elif isinstance(node, ast.Call) and WORDING.search(_called(node.func)):
            alone |= set(ast.iter_child_nodes(node))
        elif isinstance(node, (ast.JoinedStr, ast.Assert)):
            alone.add(node)
        elif isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
            alone.add(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            alone.add(node)  # a docstring, or "..."
    return alone


def _quiet_parts(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[ast.AST]:
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    if node.name in ("__repr__", "__str__") or re.search("(_error|_message)s?$", node.name) or "overload" in marks:
        return {node}
    return {node.returns} if node.returns else set()


def _is_for_types(node: ast.Assign) -> bool:
    names = {target.id for target in node.targets if isinstance(target, ast.Name)}
    return bool(names & {"__all__", "TYPE_CHECKING", "__slots__"})


def _called(function: ast.AST) -> str:
    return getattr(function, "attr", None) or getattr(function, "id", "")


class Text:
    """A file, whose places are counted in bytes as Python's trees do."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text.encode()
        self.lines = self.text.splitlines(keepends=True)
        self.begins = [0]
        for line in self.lines:
            self.begins.append(self.begins[-1] + len(line))

    def mutant(self, kind: str, span: tuple[int, int], new: str, function: str) -> Mutant:
        start, end = span
        line = self.text.count(b"\n", 0, start) + 1
        source = self.lines[line - 1].decode().strip()
        return Mutant(self.path, line, function, kind, self.text[start:end].decode(), new, start, end, source)


def apply(mutant: Mutant, text: str) -> str:
    """The file with the change."""
    whole = text.encode()
    assert whole[mutant.start : mutant.end] == mutant.old.encode(), mutant
    return (whole[: mutant.start] + mutant.new.encode() + whole[mutant.end :]).decode()


class _Finder(Text):
    """Finds the mutants of a Python file."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self.tree = ast.parse(text)
        self.alone = left_alone(self.tree)
        self.function = ""
        self.found: list[Mutant] = []

    def span(self, node: ast.AST) -> tuple[int, int]:
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return self.begins[first - 1] + node.col_offset, self.begins[last - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def add(self, kind: str, span: tuple[int, int], new: str) -> None:
        if self.text[slice(*span)].decode() != new:
            self.found.append(self.mutant(kind, span, new, self.function))

    def replace(self, kind: str, node: ast.AST, new: str) -> None:
        self.add(kind, self.span(node), new)

    def between(self, kind: str, left: ast.AST, right: ast.AST, pair: tuple[str, str]) -> None:
        """Replaces an operator between two nodes."""
        begin, end = self.span(left)[1], self.span(right)[0]
        gap = re.sub(rb"#.*", lambda comment: b" " * len(comment[0]), self.text[begin:end])
        if found := re.search(rb"\s+".join(re.escape(word.encode()) for word in pair[0].split()), gap):
            self.add(kind, (begin + found.start(), begin + found.end()), pair[1])

    def visit(self, node: ast.AST) -> None:
        if node in self.alone:
            return
        outer = self.function
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.function = f"{outer}.{node.name}".lstrip(".")
        if isinstance(node, ast.stmt):
            self.statements(node)
        self.expressions(node)
        self.children(node)
        self.function = outer

    def children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    # ==== dropped statements, swapped branches ====

    def statements(self, node: ast.AST) -> None:
        if isinstance(node, ast.If):
            self.negate(node.test)
        elif isinstance(node, ast.Return) and node.value is not None and not _is_nothing(node.value):
            self.replace("dropped statement", node, "return None")
        elif isinstance(node, (ast.Break, ast.Continue, ast.Raise, ast.Delete, ast.AugAssign)):
            self.replace("dropped statement", node, "pass")
        elif isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            self.replace("dropped statement", node, "pass")
        elif isinstance(node, ast.Assign) and self.is_state(node.targets):
            self.replace("dropped statement", node, "pass")

    def is_state(self, targets: list[ast.expr]) -> bool:
        """Whether it changes an object; without the first assignment to a name nothing runs at all."""
        return all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets)

    def negate(self, test: ast.expr) -> None:
        self.replace("swapped branch", test, f"not ({self.source(test)})")

    # ==== expressions ====

    def expressions(self, node: ast.AST) -> None:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, operation, right in zip(operands, node.ops, operands[1:]):
                self.between("comparison", left, right, COMPARISONS[type(operation)])
        elif isinstance(node, ast.BoolOp):
            pair = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:]):
                self.between("swapped branch", left, right, pair)
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not self.is_type(node):
            self.between("operator", node.left, node.right, OPERATORS[type(node.op)])
        elif isinstance(node, ast.IfExp):
            self.negate(node.test)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                self.negate(test)
        elif isinstance(node, ast.Constant):
            self.constant(node)
        elif isinstance(node, ast.Slice):
            for bound in (node.lower, node.upper):
                self.shift(bound)
        elif isinstance(node, ast.Call) and _called(node.func) == "range" and node.args:
            self.shift(node.args[-1] if len(node.args) < 3 else node.args[1])

    def is_type(self, node: ast.BinOp) -> bool:
        """X | None outside of annotations."""
        return isinstance(node.op, ast.BitOr) and isinstance(node.right, ast.Constant) and node.right.value is None

    def source(self, node: ast.AST) -> str:
        return self.text[slice(*self.span(node))].decode()

    def shift(self, bound: ast.expr | None) -> None:
        if bound is not None and not isinstance(bound, ast.Constant):
            self.replace("off by one", bound, f"({self.source(bound)}) + 1")

    def constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.replace("constant", node, str(not value))
        elif isinstance(value, int):
            self.replace("off by one", node, str(value + 1))
            if value > 1:
                self.replace("off by one", node, str(value - 1))
        elif isinstance(value, (str, bytes)) and value and len(value) < 40 and not _is_prose(value):
            self.replace("constant", node, '""' if isinstance(value, str) else 'b""')


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _is_prose(value: str | bytes) -> bool:
    words = value if isinstance(value, str) else value.decode("latin-1")
    return " " in words.strip()


def python_mutants(path: str, text: str) -> list[Mutant]:
    finder = _Finder(path, text)
    finder.visit(finder.tree)
    return sorted(finder.found, key=lambda mutant: (mutant.start, mutant.end, mutant.new))


# ==== Cython ====

CYTHON_SWAPS = {old: new for old, new in [*COMPARISONS.values(), *OPERATORS.values()] if old not in ("in", "is", "*")}
CYTHON_SWAPS |= {"and": "or", "or": "and", "True": "False", "False": "True", "break": "pass", "continue": "pass"}
CYTHON_SKIPPED = re.compile(
    r"\s*(cdef extern|cimport|from |import |ctypedef|raise |@|def |cpdef |cdef .*:\s*$|#|\"\"\")"
)

ONE_STATEMENT = re.compile(r"\s+[\w.]+(\[.*\])? [-+|&]?= .*[^\\(,\[]$|\s+[\w.]+\(.*\)$")


def cython_mutants(path: str, text: str) -> list[Mutant]:
    """By tokens, since there is no tree: conditions, constants and operators in lines that are no declaration, and
    statements of one line that call something or assign."""
    return sorted(_cython(path, text), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


def _cython(path: str, text: str) -> Iterator[Mutant]:
    whole = Text(path, text)
    lines = text.splitlines(keepends=True)
    quiet, inside = _quiet_lines(lines), _functions(lines)
    for token in _tokens(text):
        row, column = token.start
        if row in quiet or token.type not in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
            continue
        start = whole.begins[row - 1] + len(lines[row - 1][:column].encode())
        for kind, new in _cython_swaps(token, lines[row - 1]):
            yield whole.mutant(kind, (start, start + len(token.string)), new, inside[row])
    for row, line in enumerate(lines, 1):
        if row not in quiet and ONE_STATEMENT.match(line.rstrip()):
            start = whole.begins[row - 1] + len(line) - len(line.lstrip())
            yield whole.mutant("dropped statement", (start, start + len(line.strip().encode())), "pass", inside[row])


def _functions(lines: list[str]) -> dict[int, str]:
    """The name of the function around each line."""
    inside, name = {}, ""
    for row, line in enumerate(lines, 1):
        if found := re.match(r"\s*(?:def|cp?def [^=]*?)\s*(\w+)\(", line):
            name = found[1]
        inside[row] = name
    return inside


def _cython_swaps(token: tokenize.TokenInfo, line: str) -> Iterator[tuple[str, str]]:
    word = token.string
    if token.type == tokenize.NUMBER and re.fullmatch(r"\d+", word):
        yield "off by one", str(int(word) + 1)
    elif word in ("<", ">") and re.search(r"<[\w\s*.\[\]:]+>", line):
        return  # a cast
    elif word == "&" and re.search(r"(^|[(=,<>]|return)\s*$", line[: token.start[1]]):
        return  # an address
    elif word == "-" and re.search(r"(^|[(=,\[<>:]|return|except)\s*$", line[: token.start[1]]):
        return  # a sign
    elif word in CYTHON_SWAPS:
        yield "comparison" if word in "<=>=!=" else "operator", CYTHON_SWAPS[word]
    elif word == "not" and "is not" not in line and "not in" not in line:
        yield "swapped branch", "not not"


def _quiet_lines(lines: list[str]) -> set[int]:
    """Declarations, and docstrings."""
    quiet, inside = set(), False
    for row, line in enumerate(lines, 1):
        if inside or CYTHON_SKIPPED.match(line) or "except" in line or not line[:1].isspace():
            quiet.add(row)
        if line.count('"""') % 2:
            inside = not inside
            quiet.add(row)
    return quiet


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, IndentationError):
        return
