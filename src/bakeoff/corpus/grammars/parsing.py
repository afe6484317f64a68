"""Parses source code into a syntax tree, rejects text in another language, and converts bytes to characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import local
from typing import TYPE_CHECKING

from bakeoff.corpus.grammars import LoadedGrammar, load
from bakeoff.corpus.limited_process import (
    WAIT_FACTOR,
    LimitedProcess,
    ProcessEndedError,
    limit_cpu,
    limit_memory,
    serve,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PROBED_BYTES = 20_000
"""Longer texts are first parsed in a process with limits: tree-sitter takes quadratic time on errors."""
PROBE_SECONDS = 10
PROBE_MB = 1000
# noise has an error every 2 to 10 characters; prose, or a file cut off in a comment, one in 25 or more
_LONG, _SAMPLE, _ERROR_EVERY = 60_000, 2000, 15


class ParseError(ValueError):
    """The text is not in the declared language."""


class _Parsers(local):
    """Parsers of one thread by grammar, and the process that parses long texts first."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[LoadedGrammar, Parser]] = {}
        self.probe = LimitedProcess("bakeoff.corpus.grammars.parsing")


_here = _Parsers()


def parse(text: str, grammar: LoadedGrammar) -> tuple[bytes, Node]:
    """Bytes of a text and the root of its tree, with byte offsets; raises ParseError."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _LONG and _foreign(text[:_SAMPLE], grammar):
        raise ParseError("it does not begin like a program")
    if len(data) > PROBED_BYTES:
        _probe(data, grammar)
    root = _parser(grammar).parse(data).root_node
    if _broken(root):
        raise ParseError("more than half of it is not understood")
    return data, root


def _probe(data: bytes, grammar: LoadedGrammar) -> None:
    """Raise ParseError for a text that should not be parsed in this process."""
    try:
        _here.probe.ask((grammar.kind, data, PROBE_SECONDS), PROBE_SECONDS * WAIT_FACTOR)
    except ProcessEndedError as exc:
        if exc.waited or exc.out_of_cpu_time:
            raise ParseError(f"parsing it takes more than {PROBE_SECONDS} s of CPU time") from exc
        raise ParseError(f"its parser ends with {exc.crash}") from exc


def _open_probe(_: object) -> Callable[[tuple[str, bytes, float]], None]:
    """Runs in the process: parses, and returns nothing."""
    limit_memory(PROBE_MB)

    def probe(message: tuple[str, bytes, float]) -> None:
        kind, data, seconds = message
        limit_cpu(seconds)
        _parser(load(kind)).parse(data)

    return probe


def _parser(grammar: LoadedGrammar) -> Parser:
    """This thread's parser of a grammar: parsers are not thread-safe and slow to create."""
    from tree_sitter import Parser

    parsers, key = _here.made, id(grammar)
    if key not in parsers:
        # keep the grammar alive, so that no other one can reuse its id
        parsers[key] = grammar, Parser(grammar.language)
    return parsers[key][1]


def to_characters(text: str, data: bytes, offsets: Sequence[int]) -> list[int]:
    """Convert ascending byte offsets to character offsets (F45)."""
    if len(data) == len(text):
        return list(offsets)
    found, byte, char = [], 0, 0
    for offset in offsets:
        char += len(data[byte:offset].decode("utf-8", "surrogatepass"))
        byte = offset
        found.append(char)
    return found


def _foreign(sample: str, grammar: LoadedGrammar) -> bool:
    """Whether a text has many errors from the start: parsing all of it would take quadratic time."""
    data = sample.encode("utf-8", "surrogatepass")
    errors, nodes = 0, [_parser(grammar).parse(data).root_node]
    while nodes:
        node = nodes.pop()
        errors += node.is_error or node.is_missing
        if node.has_error:
            nodes += node.children
    return errors * _ERROR_EVERY > len(sample)


def _broken(root: Node) -> bool:
    if root.type == "ERROR":
        return True
    if not root.has_error:
        return False
    lost = sum(node.end_byte - node.start_byte for node in root.named_children if node.is_error)
    return lost * 2 > root.end_byte - root.start_byte


if __name__ == "__main__":
    serve(_open_probe)
