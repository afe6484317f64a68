"""Which stores are measured and how: `faiss`, or `faiss:build.index=ivf;build.m=32`, and what a sweep turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from bakeoff import registry
from bakeoff.errors import SettingError
from bakeoff.protocols import SupportsVectors

GRIDS = {"ef": (16, 32, 64, 128, 256), "probes": (1, 2, 4, 8, 16, 32)}
"""Query parameters that trade speed for recall, larger is slower and better, and the values a sweep takes."""
INDEXES = {"ef": "hnsw", "probes": "ivf"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A store with its build parameters; `knob` is the query parameter that is turned, or ''."""

    label: str
    name: str
    plugin: Any = field(repr=False)
    params: BaseModel = field(repr=False)
    knob: str = ""

    def query(self, value: int | None = None) -> Any:
        """Query arguments with the knob at a value; the store's own default without one."""
        return self.plugin.Query() if value is None else self.plugin.Query(**{self.knob: value})

    def setting(self, value: int | None) -> str:
        """How a query setting is shown."""
        return "default" if value is None else f"{self.knob}={value}"

    def grid(self, k: int) -> tuple[int | None, ...]:
        """The values of a sweep; a candidate list shorter than k is none."""
        if not self.knob:
            return (None,)
        lowest = k if self.knob == "ef" else 1
        return tuple(value for value in GRIDS[self.knob] if value >= lowest) or (lowest,)


def candidates(specs: Sequence[str]) -> tuple[Candidate, ...]:
    """The stores of a command line, each checked; the same one twice is an error."""
    found = [_candidate(spec.strip()) for spec in specs if spec.strip()]
    if not found:
        raise SettingError("no store was named. Write --stores exact,faiss.")
    labels = [one.label for one in found]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise SettingError(f"{', '.join(twice)} is named twice in --stores.")
    return tuple(found)


def _candidate(spec: str) -> Candidate:
    name, _, rest = spec.partition(":")
    plugin = registry.load("stores", name)
    if not issubclass(plugin, SupportsVectors):
        raise SettingError(f"{name} searches by words, not by vectors; it cannot be measured on vectors.")
    try:
        params = plugin.Params(**_nested(rest, spec))
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"--stores {spec}: {where}: {first['msg']}.") from exc
    return Candidate(spec, name, plugin, params, _knob(plugin, params))


def _nested(text: str, spec: str) -> dict[str, Any]:
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


def _knob(plugin: Any, params: BaseModel) -> str:
    """The parameter to turn: the store's only one, or the one that belongs to the index it builds."""
    have = [name for name in GRIDS if name in plugin.Query.model_fields]
    kind = str(getattr(getattr(params, "build", None), "index", "")).lower()
    if not kind:
        return have[0] if len(have) == 1 else ""
    return next((name for name in have if INDEXES[name] in kind), "")
