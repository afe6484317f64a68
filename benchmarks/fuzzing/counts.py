"""How many files each parser was given over all sessions, by version: a changed parser begins at 0 again.

The version of a parser is the hash of the modules whose functions run when it reads its valid file, without comments
and docstrings. Errors, the registry and protocols are shared by all and left out.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzed import Reader

SOURCE = Path(__file__).parents[2] / "src" / "bakeoff"
COUNTS = Path(__file__).with_name("counts.json")
SHARED = {"errors.py", "protocols.py", "registry.py"}
Counts = dict[str, dict[str, dict[str, int]]]


def read_counts() -> Counts:
    """`files` and `falls` by parser and version."""
    return json.loads(COUNTS.read_text()) if COUNTS.exists() else {"falls": {}, "files": {}}


def add_count(kind: str, version: str, files: int, *, fell: bool) -> None:
    """Add the files of one turn, and write the counts whole or not at all."""
    counts = read_counts()
    for what, number in (("files", files), ("falls", int(fell))):
        versions = counts[what].setdefault(kind, {})
        versions[version] = versions.get(version, 0) + number
    whole = COUNTS.with_suffix(".new")
    whole.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    whole.replace(COUNTS)


def total_of_versions(versions: dict[str, str]) -> tuple[int, int]:
    """The files that parsers of these versions were given, and how many of the parsers fell over one."""
    counts = read_counts()
    files, falls = (
        [counts[what].get(kind, {}).get(version, 0) for kind, version in versions.items()]
        for what in ("files", "falls")
    )
    return sum(files), sum(number > 0 for number in falls)


def parser_version(reader: Reader) -> str:
    """The version of a parser, found in a fork: what was imported or cached before must not change it."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        try:
            with tempfile.TemporaryDirectory() as name:
                os.write(send, _hash(_modules_of(reader, Path(name))).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as answer:
        version = answer.read()
    os.waitpid(child, 0)
    return version or "unknown"


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
    found = (Path(name) for name in seen)
    return sorted(path for path in found if path.is_relative_to(SOURCE) and path.name not in SHARED)


def _hash(modules: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in modules:
        digest.update(path.relative_to(SOURCE).as_posix().encode() + b"\0")
        digest.update(_code(path).encode() + b"\0")
    return digest.hexdigest()[:16]


def _code(path: Path) -> str:
    """A module without what does not run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
