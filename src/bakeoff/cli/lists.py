"""bakeoff list: the installed models, stores, chunkers, measures and the rest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError
from bakeoff.protocols import Plugin
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


KINDS = (
    *("models", "encoders", "chunkers", "stores", "modes", "rerankers", "retrievers", "measures"),
    *("examples", "sources", "readers", "executors"),
)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("list")(list_)


@with_json
def list_(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS))],
    gaps: Annotated[bool, typer.Option("--gaps", help="With stores: what each cannot do, and why.")] = False,
) -> None:
    """List what is installed: stores, models, chunkers and more."""
    from bakeoff.cli import models

    makers: dict[str, Callable[[], list[dict[str, object]]]] = {
        "readers": _readers,
        "stores": _stores,
        "modes": _modes,
        "measures": _measures,
        "examples": _examples,
    }
    if kind == "models":
        models.list_models(models_toml=None, ollama=None)
        return
    if kind not in KINDS:
        raise SettingError(f"{kind!r} can't be listed. Choose one of {', '.join(KINDS)}.")
    if gaps and kind != "stores":
        raise SettingError(f"--gaps applies only to `bakeoff list stores`, not to {kind}.")
    rows = _gaps() if gaps else makers[kind]() if kind in makers else _plugins(kind)
    console.print_json(rows)
    if rows:
        console.table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])
    else:
        console.print_line(f"no {kind} are installed.")


def _plugins(kind: str) -> list[JsonObject]:
    from bakeoff import registry

    rows = []
    for entry in registry.entries(kind):
        if entry.missing:
            rows.append({"name": entry.name, "what": entry.missing, "parameters": ""})
            continue
        plugin = registry.load(kind, entry.name)
        rows.append({"name": entry.name, "what": _first_line(plugin), "parameters": _parameters(plugin)})
    return rows


def _readers() -> list[dict[str, object]]:
    """Readers with the kinds of documents they read."""
    from bakeoff import registry

    names = {entry.name for entry in registry.entries("readers") if not entry.missing}
    return [
        {"name": row["name"], "reads": _kinds(row["name"]) if row["name"] in names else ""}
        | {"what": row["what"], "parameters": row["parameters"]}
        for row in _plugins("readers")
    ]


def _kinds(name: str) -> str:
    from bakeoff import registry
    from bakeoff.corpus.document_kinds import TEXTS

    kinds = registry.load("readers", name).kinds
    return "text and code" if set(kinds) == TEXTS else ", ".join(kinds)


def _stores() -> list[JsonObject]:
    """Stores with the tuning parameter of their default index and the names of their gaps."""
    declared = _declared_gaps()
    return [
        row | {"knob": _knob(row["name"], declared), "gaps": ", ".join(declared.get(row["name"], {}))}
        for row in _plugins("stores")
    ]


def _knob(name: str, installed: Container[str]) -> str:
    from bakeoff import registry
    from bakeoff.benchmark.stores import declared_knob

    if name not in installed:
        return ""
    plugin = registry.load("stores", name)
    knob = declared_knob(plugin, plugin.Params())
    return knob.name if knob is not None else ""


def _gaps() -> list[dict[str, object]]:
    return [
        {"name": name, "gap": ability, "because": reason}
        for name, declared in _declared_gaps().items()
        for ability, reason in declared.items()
    ]


def _declared_gaps() -> dict[str, dict[str, str]]:
    """The declared gaps of each installed store: ability to reason."""
    from bakeoff import registry

    names = [entry.name for entry in registry.entries("stores") if not entry.missing]
    return {name: dict(getattr(registry.load("stores", name), "gaps", {})) for name in names}


def _first_line(plugin: object) -> str:
    doc = sys.modules[plugin.__module__].__doc__ or plugin.__doc__ or ""
    return str(doc.strip().splitlines()[0]) if doc.strip() else ""


def _parameters(plugin: type[Plugin]) -> str:
    models = [plugin.Params, *filter(None, [getattr(plugin, "Query", None)])]
    return ", ".join(
        _parameter_name(name, field) for model in models for name, field in model.model_fields.items()
    )


def _parameter_name(name: str, field: FieldInfo) -> str:
    """A parameter's name, with the shards and replicas it accepts."""
    spread = [
        part for part in ("shards", "replicas") if part in getattr(field.annotation, "model_fields", ())
    ]
    return f"{name} ({', '.join(spread)})" if spread else name


def _modes() -> list[dict[str, object]]:
    from bakeoff.config.modes import MODES

    return [
        {"name": mode.name, "what": mode.params.__doc__, "parameters": ", ".join(mode.params.model_fields)}
        for mode in MODES.values()
    ]


def _measures() -> list[dict[str, object]]:
    from bakeoff.measures.catalogue import all_measures

    return [
        {"name": row.name, "formula": row.formula, "ceiling": row.ceiling, "what": row.meaning}
        for row in all_measures()
    ]


def _examples() -> list[dict[str, object]]:
    from bakeoff.examples import examples

    return [{"name": example.name, "what": example.title} for example in examples()]
