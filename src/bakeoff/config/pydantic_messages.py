"""Turns pydantic's errors about a file into one error with file, line, key, value and remedy."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from bakeoff.errors import UserError
from bakeoff.types import Json

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from bakeoff.config.yaml_document import Keys, YamlDocument

M = TypeVar("M", bound=BaseModel)

SHOWN = 10
ITEMS: dict[str | int, str] = {"queries": "query"}
"""Lists whose items are identified by their id."""


MESSAGES = {
    "too_short": "list at least {min_length}",
    "too_long": "list at most {max_length}",
    "string_type": "write a text",
    "list_type": "write a list, such as [a, b]",
    "bool_type": "write true or false",
    "bool_parsing": "write true or false",
    "int_type": "write a whole number",
    "int_parsing": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "float_parsing": "write a number",
    "finite_number": "write a finite number",
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be {ge} or more",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be {le} or less",
    "literal_error": "use {expected}",
    "enum": "use {expected}",
    "date_from_datetime_parsing": "write a date, such as 2026-01-31",
    "date_type": "write a date, such as 2026-01-31",
}
"""Plain messages for pydantic's error types."""

SYNONYMS = {
    **dict.fromkeys(("question", "query", "prompt"), "text"),
    **dict.fromkeys(("answer", "answers", "expected", "relevant", "gold", "ground_truth", "label"), "truth"),
    **dict.fromkeys(("doc", "docs", "path", "source"), "documents"),
    **dict.fromkeys(("models", "model", "embeddings"), "embedders"),
    **dict.fromkeys(("database", "databases", "vectorstores", "vector_stores"), "stores"),
    **dict.fromkeys(("metrics", "metric_names"), "measures"),
}
"""Other tools' names of keys, and their names here."""


def explain_validation(
    model: type[M], located: YamlDocument, error: type[UserError], name: str | None, at: Keys
) -> M:
    """Build the model from the part of a file at a path, or raise one error that lists every problem."""
    data = located.data
    for part in at:
        data = data[part]
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
        lines = [_sentence(item, model, located, name or located.name, at) for item in errors[:SHOWN]]
        if len(errors) > SHOWN:
            lines.append(f"… and {len(errors) - SHOWN} more of this kind.")
        raise error(lines=lines) from exc


def _sentence(item: ErrorDetails, model: type[BaseModel], located: YamlDocument, name: str, at: Keys) -> str:
    path = tuple(item["loc"])
    label, inner = _item(located.data, at + path)
    where = f"{name}, line {located.line(at + path)}{label}"
    if item["type"] == "extra_forbidden":
        return (
            f"{where}: {_unknown_key(str(path[-1]), known_keys(model, path[:-1]), _dotted_path(inner[:-1]))}"
        )
    if item["type"] == "missing":
        return f'{where}: "{_dotted_path(inner)}" is missing. Add it.'
    if item["type"] == "model_type" and not inner:
        keys = ", ".join(known_keys(model, ()))
        return f"{where}: keys with values are expected ({keys}). It holds {shorten(item['input'])}."
    if item["type"] in ("dict_type", "model_type"):
        return f'{where}: "{_dotted_path(inner)}": keys with values are expected (it is {shorten(item["input"])}).'
    message = _message(item)
    key = f'"{_dotted_path(inner)}": ' if inner else ""
    value = "" if item["type"] == "value_error" else f" (it is {shorten(item['input'])})"
    return f"{where}: {key}{message}{value}."


def _message(item: ErrorDetails) -> str:
    """A plain message; pydantic's own for an unlisted type."""
    template = MESSAGES.get(item["type"])
    if template is None:
        return item["msg"].removeprefix("Value error, ").rstrip(".")
    return template.format(**{"min_length": 1, **item.get("ctx", {})})


def _item(data: Json, path: Keys) -> tuple[str, Keys]:
    """ ", query con-05" and the path inside it, if a path leads through a named item of a known list."""
    if len(path) < 2 or path[0] not in ITEMS or not isinstance(path[1], int):
        return "", path
    item = data[path[0]][path[1]]
    if not isinstance(item, dict) or "id" not in item:
        return "", path
    return f", {ITEMS[path[0]]} {item['id']}", path[2:]


def _unknown_key(key: str, keys: list[str], inside: str) -> str:
    below = f" in {inside}" if inside else ""
    return f'unknown key "{key}"{below}.{did_you_mean(key, keys)} Known keys: {", ".join(keys) or "none"}.'


def did_you_mean(word: str, words: list[str]) -> str:
    """ " Did you mean "x"?" if a known word is similar, else ''."""
    lowered = {name.lower(): name for name in words}
    called = SYNONYMS.get(word.lower())
    if called in words:
        return f' Did you mean "{called}"?'
    ends = [name for name in lowered if name.endswith(f"_{word.lower()}")]
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6) or (
        ends if len(ends) == 1 else []
    )
    return f' Did you mean "{lowered[near[0]]}"?' if near else ""


def known_keys(model: type[BaseModel], path: Keys) -> list[str]:
    """Keys that the models at a path accept."""
    models = [model]
    for part in path:
        if isinstance(part, int):
            continue
        models = [inner for outer in models for inner in _inside(outer, part)] or models
    return sorted({field.alias or name for outer in models for name, field in outer.model_fields.items()})


def _inside(model: type[BaseModel], key: str) -> list[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            return _models(field.annotation)
    return []


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _dotted_path(path: Keys) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def shorten(value: object, width: int = 60) -> str:
    """A value as shown in a message."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"
