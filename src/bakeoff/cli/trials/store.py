"""bakeoff test store: check a store against the contract, with a small recall and latency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError
from bakeoff.protocols import CompleteStore, Store
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    from bakeoff.testing.smoke_test import SmokeFigures
    from bakeoff.testing.store_fixture import CheckOutcome


@with_json
def store(
    name: Annotated[str, typer.Argument(help="A store of `bakeoff list stores`.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter as key=value, or build.m=32 for a nested one. Repeatable."),
    ] = None,
    recall: Annotated[
        float,
        typer.Option(min=0, max=1, help="Recall@10 that the checks require; lower it for a quantised index."),
    ] = 0.95,
    score_error: Annotated[
        float, typer.Option(min=0, help="Largest error of a score; raise it for a quantised index.")
    ] = 1e-3,
) -> None:
    """Check a store against the contract; measure recall and latency.

    Replaces collections named contract_… and removes them at the end.
    """
    from bakeoff import registry
    from bakeoff.testing import smoke_test
    from bakeoff.testing.store_fixture import StoreFixture

    plugin = registry.load("stores", name)
    params, gaps = params_of(plugin, set_ or []), dict(getattr(plugin, "gaps", {}))
    with TempDir("store") as folder:
        fixture = StoreFixture(
            name=name,
            plugin=cast("type[CompleteStore]", plugin),
            folder=folder,
            params=params,
            gaps=gaps,
            recall=recall,
            score_error=score_error,
        )
        engine = smoke_test.engine(fixture)
        console.print_line(f"{name}: {engine}")
        checks = list(smoke_test.outcomes(fixture))
        failed = any(row.state == "failed" for row in checks)
        figures = None if failed else smoke_test.figures(fixture)
        _show(engine, checks, figures)
        smoke_test.sweep(fixture)
    if failed:
        raise typer.Exit(1)


def params_of(plugin: type[Store], settings: list[str]) -> JsonObject:
    """Nested parameters, validated by the store's own model."""
    from pydantic import ValidationError

    params = _nest_settings(settings)
    try:
        plugin.Params(**params)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"--set {where}: {first['msg']} (it is {first['input']!r}).") from exc
    return params


def _nest_settings(settings: list[str]) -> JsonObject:
    from bakeoff.cli.trials.part import given_value

    params: JsonObject = {}
    for item in settings:
        path, sign, value = item.partition("=")
        if not sign or not path.strip():
            raise SettingError(f"--set {item!r} is not key=value. Write --set build.m=32.")
        *outer, last = path.strip().split(".")
        inner = params
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise SettingError(
                    f"--set {item!r}: {part} is already {inner!r}, which has no nested values."
                )
        inner[last] = given_value(value, f"--set {item}")
    return params


def _show(engine: str, checks: list[CheckOutcome], figures: SmokeFigures | None) -> None:
    console.print_json({"engine": engine, "checks": checks, "figures": figures})
    marks = {"ok": "ok", "gap": "gap", "failed": "FAILED"}
    console.table(["check", "", "why"], [[row.check, marks[row.state], row.why] for row in checks])
    console.print_line(_sentence(checks, figures))


def _sentence(checks: list[CheckOutcome], figures: SmokeFigures | None) -> str:
    counts = {state: sum(row.state == state for row in checks) for state in ("ok", "gap", "failed")}
    summary = f"{counts['ok']} passed, {counts['gap']} declared gaps, {counts['failed']} failed."
    if figures is None:
        why = (
            "not measured: checks failed"
            if counts["failed"]
            else "not measured: the store does not search vectors"
        )
        return f"{summary} Recall and latency {why}."
    return (
        f"{summary} {figures.rows:,} × {figures.dims} random vectors, {figures.queries} queries one at a time: "
        f"recall@10 {figures.recall_at_10:.3f}, p50 {figures.p50_ms:.2f} ms, p95 {figures.p95_ms:.2f} ms, "
        f"insert {figures.insert_s:.2f} s, index {figures.index_s:.2f} s."
    )
