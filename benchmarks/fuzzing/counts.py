"""Coverage-guided inputs of each parser, summed over all sessions by version: a changed parser starts again at 0.

The version of a parser is the hash of the modules whose functions run when it reads its valid file, without comments,
docstrings and the wording of raised errors. Errors, the registry and protocols are shared by all and left out.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import inspect
import json
import os
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzed import Reader

SOURCE = Path(__file__).parents[2] / "src" / "bakeoff"
COUNTS = Path(__file__).with_name("counts.json")
SHARED = {"errors.py", "protocols", "registry.py"}
Counts = dict[str, dict[str, dict[str, int]]]


def read_counts() -> Counts:
    """`inputs` and `crashes` by parser and version."""
    return json.loads(COUNTS.read_text()) if COUNTS.exists() else {"crashes": {}, "inputs": {}}


def add_count(kind: str, version: str, inputs: int, *, crashed: bool) -> None:
    """Add the inputs of one turn, and write the counts whole or not at all."""
    lock = os.open(COUNTS.parent, os.O_RDONLY)  # two sessions of fuzzing may end a turn at once
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _add(kind, version, inputs, crashed=crashed)
    finally:
        os.close(lock)


def _add(kind: str, version: str, inputs: int, *, crashed: bool) -> None:
    counts = read_counts()
    for what, number in (("inputs", inputs), ("crashes", int(crashed))):
        versions = counts[what].setdefault(kind, {})
        versions[version] = versions.get(version, 0) + number
    whole = COUNTS.with_suffix(".new")
    whole.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    whole.replace(COUNTS)


def inputs_of(kind: str, version: str) -> int:
    """How many inputs this version of a parser had."""
    return read_counts()["inputs"].get(kind, {}).get(version, 0)


def total_of_versions(versions: dict[str, str]) -> tuple[int, int]:
    """The inputs of parsers of these versions, and how many of the parsers crashed."""
    counts = read_counts()
    inputs, crashes = (
        [counts[what].get(kind, {}).get(version, 0) for kind, version in versions.items()]
        for what in ("inputs", "crashes")
    )
    return sum(inputs), sum(number > 0 for number in crashes)


def parser_version(reader: Reader) -> str:
    """The version of a parser, found in a fork: what was imported or cached before must not change it."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        try:
            with tempfile.TemporaryDirectory() as name:
                os.write(send, _hash(_modules_of(reader, Path(name))).encode())
        finally:
            if sys.exc_info()[0]:
                traceback.print_exc()
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as answer:
        version = answer.read()
    os.waitpid(child, 0)
    if not version:
        raise RuntimeError(f"the version of {reader.kind} could not be computed; the error is above")
    return version


def _modules_of(reader: Reader, folder: Path) -> list[Path]:
    """The modules of this package whose functions run for its valid file."""
    seen: set[str] = set()

    def watch(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            seen.add(frame.f_code.co_filename)

    path, content = reader.place(folder), reader.content()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        reader.feed(path, content)
    finally:
        sys.setprofile(None)
    found = (Path(name) for name in seen if name.endswith(".py"))  # templates run under their own names
    return sorted(
        path
        for path in found
        if path.is_relative_to(SOURCE) and path.relative_to(SOURCE).parts[0] not in SHARED
    )


def _hash(modules: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in modules:
        digest.update(path.relative_to(SOURCE).as_posix().encode() + b"\0")
        digest.update(_code(path).encode() + b"\0")
    return digest.hexdigest()[:16]


def _code(path: Path) -> str:
    """A module without what does not parse: docstrings, and the wording of the errors it raises."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
        if isinstance(node, ast.Raise):
            _drop_wording(node)
    return ast.dump(tree)


def _drop_wording(raised: ast.Raise) -> None:
    """Empty the literal texts of a raised error; the values in its message stay."""
    for node in ast.walk(raised):
        if isinstance(node, ast.JoinedStr):
            node.values = [one for one in node.values if isinstance(one, ast.FormattedValue)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
