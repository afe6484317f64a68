"""Writes the reference pages of the docs site from the code."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import bakeoff
from bakeoff import registry
from bakeoff.cli.app import app
from bakeoff.config.experiment_file import ExperimentFile
from bakeoff.config.modes import MODES
from bakeoff.errors import MissingExtraError
from bakeoff.measures.catalogue import all_measures

HERE = Path(__file__).parent
OUT = HERE / "reference"


def main() -> None:
    """Write every page anew."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    pages = {
        "cli.md": commands(),
        "experiment.md": experiment(),
        "plugins.md": plugins(),
        "measures.md": measures(),
        "api.md": api(),
    }
    for name, lines in pages.items():
        (OUT / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(HERE.parent / "ARCHITECTURE.md", OUT / "architecture.md")
    shutil.copy(HERE.parent / "benchmarks" / "results.md", OUT / "benchmarks.md")


def commands() -> Iterator[str]:
    """Each command with its arguments and options."""
    yield "# Commands\n"
    yield from _group(typer.main.get_command(app), "bakeoff")


def _group(group: Any, prefix: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _group(command, f"{prefix} {name}")
        else:
            yield from _command(command, f"{prefix} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    yield f"## {path}\n"
    yield f"{_cell(command.help)}\n"
    rows = [_parameter(one) for one in command.params if not getattr(one, "hidden", False)]
    if rows:
        yield from _table(("argument", "meaning", "default"), rows)


def _parameter(one: Any) -> tuple[str, str, str]:
    name = ", ".join(f"`{word}`" for word in (*one.opts, *one.secondary_opts))
    if one.param_type_name == "argument":
        name = f"`{(one.metavar or one.name or '').upper()}`"
    default = one.default
    shown = (
        "" if default is None or default is False or callable(default) or default == "" else f"`{default}`"
    )
    return name, _cell(getattr(one, "help", "") or ""), shown


def experiment() -> Iterator[str]:
    """The keys of bakeoff.yaml."""
    yield "# bakeoff.yaml\n"
    yield "Every key, its kind and its default; `limits.p95_ms` is the key `p95_ms` below `limits`."
    yield "Unknown keys are refused, with the line.\n"
    yield from _model(ExperimentFile)
    for kind in MODES.values():
        yield f"## mode {kind.name}\n"
        yield f"{_cell(kind.params.__doc__)}\n"
        yield from _model(kind.params)


def plugins() -> Iterator[str]:
    """Every plug-in with its parameters; one whose package is not installed says what it needs."""
    yield "# Plug-ins\n"
    for kind in registry.KINDS:
        if kind == "measures":  # they have no parameters, and a page of their own
            continue
        yield f"## {kind}\n"
        for name in registry.names(kind):
            yield f"### {name}\n"
            try:
                plugin = registry.load(kind, name)
            except MissingExtraError as exc:
                yield f"{_cell(str(exc))}\n"
                continue
            yield f"{_cell(plugin.__doc__)}\n"
            yield from _model(plugin.Params)
            if hasattr(plugin, "Query") and plugin.Query.model_fields:
                yield "When searching (`query:`):\n"
                yield from _model(plugin.Query)


def measures() -> Iterator[str]:
    """The definitions that the evaluator reads."""
    yield "# Measures\n"
    yield "How each is defined, where sources differ and which is meant: [measures and conventions](../measures.md).\n"
    rows = [
        (f"`{row.name}`", _cell(row.meaning), f"`{row.formula}`".replace("|", "\\|"))
        for row in all_measures()
    ]
    yield from _table(("measure", "meaning", "formula"), rows)


def api() -> Iterator[str]:
    """The public names of the package."""
    yield "# Python\n"
    for name in sorted(bakeoff.__all__):
        value = getattr(bakeoff, name)
        if callable(value):
            yield f"## bakeoff.{name}\n"
            yield f"```python\n{name}{_signature(value)}\n```\n"
            yield f"{_cell(inspect.getdoc(value))}\n"


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(…)"


def _model(model: type[BaseModel]) -> Iterator[str]:
    rows = list(_rows(model))
    if rows:
        yield from _table(("key", "kind", "meaning", "default"), rows)
    else:
        yield "No parameters.\n"


def _rows(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, ...]]:
    """A row a key; the keys of a group are written `group.key`."""
    for name, field in model.model_fields.items():
        group = next((one for one in (field.annotation, *get_args(field.annotation)) if _is_group(one)), None)
        if group is None:
            yield f"`{above}{name}`", _kind(field.annotation), _cell(field.description or ""), _default(field)
        else:
            yield from _rows(group, f"{above}{name}.")


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kind(annotation: Any) -> str:
    return f"`{_said(annotation)}`".replace("|", "\\|")


def _said(annotation: Any) -> str:
    """A type as one would write it in a table, without its checks."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _said(inner[0])
    if origin is Literal:
        return " | ".join(map(str, inner))
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(_said, inner)))
    name = "None" if annotation is NoneType else getattr(origin or annotation, "__name__", str(annotation))
    return f"{name}[{', '.join(map(_said, inner))}]" if inner else name


def _default(field: Any) -> str:
    if field.default is PydanticUndefined:
        return "required" if field.default_factory is None else ""
    return f"`{field.default}`".replace("|", "\\|") if field.default != "" else ""


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
