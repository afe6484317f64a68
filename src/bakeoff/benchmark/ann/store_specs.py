"""Which stores are measured and how: `faiss`, or `faiss:build.index=ivf;build.m=32`, and what a sweep turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from bakeoff import registry
from bakeoff.errors import SettingError, StoreError
from bakeoff.protocols import Guarantee, SearchKnob, SupportsTuning, SupportsVectors, declared_guarantees


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """A store with its build parameters, and the knob it declares for such an index, if it has one."""

    label: str
    name: str
    plugin: Any = field(repr=False)
    params: BaseModel = field(repr=False)
    knob: SearchKnob | None = None

    def query(self, value: int | None = None) -> Any:
        """Query arguments with the knob at a value; the store's own default without one."""
        if value is None:
            return self.plugin.Query()
        assert self.knob is not None
        return self.plugin.Query(**{self.knob.name: value})

    def setting(self, value: int | None) -> str:
        """How a query setting is shown."""
        return "default" if value is None or self.knob is None else f"{self.knob.name}={value}"

    def guarantees(self) -> tuple[Guarantee, ...]:
        """What the store declares about consistency, durability and refresh."""
        return declared_guarantees(self.plugin, self.params, self.query())

    def grid(self, k: int) -> tuple[int | None, ...]:
        """The values of a sweep; the default alone where the store declares no knob."""
        return (None,) if self.knob is None else self.knob.grid(k)


def parse_store_specs(specs: Sequence[str]) -> tuple[StoreSpec, ...]:
    """The stores of a command line, each checked; the same one twice is an error."""
    found = [_candidate(spec.strip()) for spec in specs if spec.strip()]
    if not found:
        raise SettingError("no store was named. Write --stores exact,faiss.")
    labels = [one.label for one in found]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise SettingError(f"{', '.join(twice)} is named twice in --stores.")
    return tuple(found)


def _candidate(spec: str) -> StoreSpec:
    name, _, rest = spec.partition(":")
    plugin = registry.load("stores", name)
    if not issubclass(plugin, SupportsVectors):
        raise SettingError(f"{name} searches by words, not by vectors; it cannot be measured on vectors.")
    try:
        params = plugin.Params(**_nest_settings(rest, spec))
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"--stores {spec}: {where}: {first['msg']}.") from exc
    return StoreSpec(spec, name, plugin, params, declared_knob(plugin, params))


def _nest_settings(text: str, spec: str) -> dict[str, Any]:
    """`a.b=1;c=x` as nested dictionaries of strings, which the parameters' own types turn into values."""
    made: dict[str, Any] = {}
    for item in filter(None, text.split(";")):
        path, sign, value = item.partition("=")
        if not sign or not path:
            raise SettingError(
                f"--stores {spec}: {item!r} is not name=value. Write faiss:build.index=ivf;build.m=8."
            )
        *folders, last = path.strip().split(".")
        inner = made
        for part in folders:
            inner = inner.setdefault(part, {})
        inner[last] = value.strip()
    return made


def declared_knob(plugin: Any, params: BaseModel) -> SearchKnob | None:
    """What a store says tunes the search of an index built with these parameters."""
    knob: SearchKnob | None = plugin.search_knob(params) if issubclass(plugin, SupportsTuning) else None
    if knob is not None and knob.name not in plugin.Query.model_fields:
        raise StoreError(
            f"{plugin.__name__} declares the search knob {knob.name!r}, which its Query does not have. "
            f"It has: {', '.join(plugin.Query.model_fields) or 'nothing'}."
        )
    return knob
