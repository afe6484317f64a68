"""The strict reader of user files (YAML or JSON): every value keeps its line.

Plain words follow YAML 1.2: `no`, `on`, `2026-01-13` and `12:30` are texts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import yaml

from bakeoff.config.yaml_parser import MAX_DEPTH, Builder, SourcePosition
from bakeoff.errors import UserError
from bakeoff.types import Json

if TYPE_CHECKING:
    from pydantic import BaseModel

    M = TypeVar("M", bound=BaseModel)

LIMIT_BYTES = 20_000_000

_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")

Keys = tuple[str | int, ...]
"""Keys and list positions that lead to a value."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A file's content as plain Python values, with the line of each."""

    name: str
    data: Json
    place: SourcePosition = field(repr=False)

    def line(self, path: Keys) -> int:
        """Line of the value at a path; missing parts are skipped."""
        place = self.place
        for part in path:
            if isinstance(place.inside, dict) and part in place.inside:
                place = place.inside[str(part)]
            elif isinstance(place.inside, list) and isinstance(part, int) and part < len(place.inside):
                place = place.inside[part]
        return place.line

    def where(self, path: Keys) -> str:
        """ "queries.yaml, line 14" for the value at a path."""
        return f"{self.name}, line {self.line(path)}"


# --- reading ----------------------------------------------------------------------------------------


def read(
    path: Path, error: type[UserError], limit: int = LIMIT_BYTES, name: str | None = None
) -> YamlDocument:
    """Read a YAML or JSON file (`.json`) of at most `limit` bytes; `error` is the class to raise."""
    name = name or str(path)
    return parse(_text(path, name, error, limit), name, error, is_json=path.suffix.lower() == ".json")


def parse(text: str, name: str, error: type[UserError], is_json: bool = False) -> YamlDocument:
    """Parse a YAML or JSON text; `name` is used in error messages."""
    if is_json:
        text = _checked_json(text, name, error)
    try:
        builder = Builder(name, error, yaml.parse(text, Loader=yaml.CSafeLoader))
        data, place = builder.document()
    except yaml.YAMLError as exc:
        raise error(_syntax(exc, text, name)) from exc
    return YamlDocument(name, data, place)


def _text(path: Path, name: str, error: type[UserError], limit: int) -> str:
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise error(f"{name} {what}. Give the path of a YAML or JSON file.")
    try:
        with path.open("rb") as file:
            raw = file.read(limit + 1)
    except OSError as exc:
        raise error(f"{name} cannot be read: {exc.strerror}. Check the file's permissions.") from exc
    if len(raw) > limit:
        size = path.stat().st_size
        raise error(f"{name} has {size:,} bytes; at most {limit:,} are read. Split the file.")
    return _decode(raw, name, error)


def _decode(raw: bytes, name: str, error: type[UserError]) -> str:
    try:
        return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as exc:
        at = exc.start + (3 if raw.startswith(b"\xef\xbb\xbf") else 0)
        line = raw.count(b"\n", 0, at) + 1
        hint = "It looks like UTF-16. " if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise error(
            f"{name}, line {line}: byte {at} (0x{raw[at]:02x}) is not UTF-8. {hint}Save the file as UTF-8."
        ) from exc


def _checked_json(text: str, name: str, error: type[UserError]) -> str:
    """A JSON text in a form YAML's parser accepts: JSON allows tabs, and surrogate pairs as escapes."""
    try:
        json.loads(text)
    except json.JSONDecodeError as exc:
        raise error(
            f"{name}, line {exc.lineno}, column {exc.colno}: not JSON: {exc.msg}. Fix the syntax."
        ) from exc
    except RecursionError as exc:
        raise error(f"{name}: nested more than {MAX_DEPTH} levels deep. Flatten the file.") from exc
    except ValueError as exc:  # a number of thousands of digits
        raise error(f"{name}: not JSON: {exc}. Shorten the number.") from exc
    return _PAIR.sub(lambda pair: json.loads(f'"{pair.group()}"'), text.replace("\t", " "))


def _syntax(exc: yaml.YAMLError, text: str, name: str) -> str:
    mark = getattr(exc, "problem_mark", None)
    if mark is None:
        return _unprintable(exc, text, name)
    line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
    where = f"{name}, line {mark.line + 1}, column {mark.column + 1}"
    if "\t" in line[: mark.column + 1]:
        return f"{where}: a tab before {line.strip()[:60]!r}; YAML indents with spaces. Replace it."
    problem = getattr(exc, "problem", None) or "cannot be read"
    near = f"Look at {line.strip()[:60]!r} and the line before it"
    return f"{where}: not YAML: {problem}. {near}; quote a text that has : # or @ in it."


def _unprintable(exc: yaml.YAMLError, text: str, name: str) -> str:
    at = getattr(exc, "position", None)
    if at is None:
        return f"{name}: not YAML: {exc}. Fix the syntax."
    line = text.count("\n", 0, at) + 1
    character = f"control character {text[at : at + 1]!r}"
    return f"{name}, line {line}: {character} in the text. Delete it, or write it as an escape in quotes."


def validate_model(
    model: type[M], located: YamlDocument, error: type[UserError], name: str | None = None, at: Keys = ()
) -> M:
    """Build a pydantic model from a file's content (or the part at a path), or raise one error."""
    from bakeoff.config.pydantic_messages import explain_validation

    return explain_validation(model, located, error, name, at)
