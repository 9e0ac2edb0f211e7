"""What can be told of a pattern's tree without matching anything."""

from __future__ import annotations

from collections.abc import Iterator

from .read import Alt, Cat, Look, Node, Rep, Set


def children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Cat):
        return node.parts
    if isinstance(node, Alt):
        return node.choices
    return () if isinstance(node, Set) else (node.body,)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, each in front of its children."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        todo += children(node)[::-1]


def nullable(node: Node) -> bool:
    """Whether the node may match the empty text; True where that depends on the text around."""
    if isinstance(node, Set):
        return False
    if isinstance(node, Rep):
        return node.low == 0 or nullable(node.body)
    if isinstance(node, Look):
        return True
    return (any if isinstance(node, Alt) else all)(map(nullable, children(node)))


def widest(node: Node) -> int | None:
    """The most characters that the node can match, None without a bound."""
    if isinstance(node, (Set, Look)):
        return int(isinstance(node, Set))
    widths = [widest(child) for child in children(node)]
    if isinstance(node, Rep):
        if node.high == 0 or widths == [0]:
            return 0
        return None if node.high is None or widths[0] is None else node.high * widths[0]
    known = [w for w in widths if w is not None]
    if len(known) < len(widths):
        return None
    return max(known) if isinstance(node, Alt) else sum(known)


def looks_back(node: Node) -> int | None:
    """How many characters before its place the node can depend on, None without a bound."""
    depths = [looks_back(child) for child in children(node)]
    if isinstance(node, Look) and not node.ahead:
        # Look-behinds nested in one may start anywhere in its width.
        depths = [None if depths[0] is None or (own := widest(node.body)) is None else own + depths[0]]
    return None if None in depths else max(depths, default=0)  # type: ignore[type-var]
