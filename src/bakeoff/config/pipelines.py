"""The modes of an experiment file → ways to answer a query: a mode, or a list of stages."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel

from bakeoff.config.modes import MODES, RERANK
from bakeoff.config.plan import RERANK_DEPTH, PluginSpec, RawSpec, RerankSpec, RetrievalSpec
from bakeoff.config.plugin_spec import PluginSpecReader, label, own_parameters
from bakeoff.config.yaml_document import Keys
from bakeoff.protocols import SupportsKeywords

MOST = 10_000
"""Passages a stage may look at."""


class ModeReader:
    """Turns what stands under `modes` into ways; `rerankers` are those of the experiment, `depth` too."""

    def __init__(self, parts: PluginSpecReader, rerankers: list[PluginSpec], depth: int) -> None:
        self._parts, self._rerankers, self._depth = parts, rerankers, depth

    def ways(self, at: Keys, given: RawSpec | list[RawSpec]) -> Iterator[RetrievalSpec]:
        """A plain mode as it is and before each reranker; a pipeline with the stages it lists."""
        if not isinstance(given, list):
            looks = [(), *((RerankSpec(part, label=part.label),) for part in self._rerankers)]
            for way in self._first(at, given):
                yield from (_with(way, rerank) for rerank in looks)
            return
        if not given:
            self._parts.refuse(at, "a pipeline has no stage. Write its stages, as in [bm25@200, rerank@20].")
        for way in self._first((*at, 0), given[0]):
            stages = [self._looks((*at, i), one) for i, one in enumerate(given[1:], 1)]
            for rerank in itertools.product(*stages):
                self._check_depths(at, way, rerank)
                yield _with(way, rerank)

    def _first(self, at: Keys, given: RawSpec) -> Iterator[RetrievalSpec]:
        """The searches a mode makes, one way for each combination of listed values."""
        written, params = self._parts.split(at, given)
        name, depth = self._depth_of(at, written)
        kind = MODES.get(name) or self._unknown(at, name)
        where = (*at, written) if isinstance(given, dict) else at
        for choice in itertools.product(*self._parts.options(params, where, name)):
            chosen = dict(choice)
            checked = self._parts.validated(kind.params, own_parameters("modes", chosen), where)
            mode = PluginSpec("modes", name, label(written, _engine_named(chosen)), checked)
            keyword, search = self._keyword(mode, where) if kind.keywords else (None, None)
            yield RetrievalSpec(mode, keyword, search, depth)

    def _looks(self, at: Keys, given: RawSpec) -> list[RerankSpec]:
        """The rerankers a later stage stands for."""
        written, params = self._parts.split(at, given)
        name, depth = self._depth_of(at, written)
        if name in MODES:
            self._parts.refuse(at, f"{name} searches, so it stands first. Later stages order passages again.")
        if name == RERANK:
            return [self._look(part, depth) for part in self._rerankers] or self._none(at, written)
        where = (*at, written) if isinstance(given, dict) else at
        return [self._look(self._parts.made("rerankers", name, params, where, label(name, params)), depth)]

    def _look(self, part: PluginSpec, depth: int | None) -> RerankSpec:
        many = depth or RERANK_DEPTH
        return RerankSpec(part, many, f"{part.label}@{many}")

    def _none(self, at: Keys, written: str) -> list[RerankSpec]:
        self._parts.refuse(
            at, f"{written} stands for the rerankers, and none is listed. Add rerankers: [maxsim]."
        )

    def _check_depths(self, at: Keys, way: RetrievalSpec, rerank: tuple[RerankSpec, ...]) -> None:
        before, whose = way.depth or self._depth, f"{way.mode.name} fetches"
        for one in rerank:
            if one.depth > before:
                said = f"{one.label} looks at more passages than the {before} that {whose}"
                self._parts.refuse(at, f"{said}. Lower it, or raise the stage before it.")
            before, whose = one.depth, f"{one.label} looks at"

    def _depth_of(self, at: Keys, written: str) -> tuple[str, int | None]:
        """`bm25@200` as name and number of passages."""
        name, mark, depth = written.partition("@")
        if not mark:
            return name, None
        if not depth.isdecimal() or not 1 <= int(depth) <= MOST:
            self._parts.refuse(
                at, f"{written}: after @ stands how many passages, 1 to {MOST:,}, as in bm25@200."
            )
        return name, int(depth)

    def _keyword(self, mode: PluginSpec, at: Keys) -> tuple[PluginSpec, BaseModel]:
        """The engine that searches by words, with k1 and b where it takes them."""
        given: RawSpec = mode.params.engine  # type: ignore[attr-defined] # every mode with keywords has it
        engine, params = self._parts.split((*at, "engine"), given)
        where = (*at, "engine", engine) if isinstance(given, dict) else (*at, "engine")
        plugin = self._parts.plugin("stores", engine, where)
        if not issubclass(plugin, SupportsKeywords):
            self._parts.refuse(
                where, f"{engine} does not search by words, which {mode.name} needs. Choose another engine."
            )
        query = dict(params.get("query") or {})
        for key in ("k1", "b"):
            value = getattr(mode.params, key)
            if value is not None:
                target = self._takes(plugin, engine, key, value, (*at, key), params, query)
                target[key] = value
        part = self._parts.made("stores", engine, params, where, engine)
        return part, self._parts.validated(plugin.Query, query, (*where, "query"))

    def _takes(
        self,
        plugin: Any,
        engine: str,
        key: str,
        value: float,
        at: Keys,
        params: dict[str, Any],
        query: dict[str, Any],
    ) -> dict[str, Any]:
        """Where an engine takes k1 or b: among its query arguments, its parameters, or not at all."""
        if key in plugin.Query.model_fields:
            return query
        if key in plugin.Params.model_fields:
            return params
        group = next((name for name, model in _groups(plugin.Params) if key in model.model_fields), None)
        if group is not None:
            params[group] = {**params.get(group, {})}
            return cast(dict[str, Any], params[group])
        fixed: Mapping[str, float] = getattr(plugin, "fixed", {})
        if fixed.get(key) != value:
            known = f"fixes {key} = {fixed[key]}" if key in fixed else f"does not say its {key}"
            self._parts.refuse(
                at, f"{engine} {known}, so {key}: {value} cannot be had. Leave engine out, or {key}."
            )
        return {}

    def _unknown(self, at: Keys, name: str) -> Any:
        near = difflib.get_close_matches(name, MODES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        self._parts.refuse(at, f"no mode is called {name!r}.{hint} Known: {', '.join(MODES)}.")


def _groups(params: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Groups of parameters, such as build, by name."""
    for name, field in params.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield name, field.annotation


def _with(way: RetrievalSpec, rerank: tuple[RerankSpec, ...]) -> RetrievalSpec:
    return RetrievalSpec(way.mode, way.keyword, way.keyword_search, way.depth, rerank)


def _engine_named(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for a label: an engine by its name, without its settings."""
    engine = params.get("engine")
    return {**params, "engine": next(iter(engine), "")} if isinstance(engine, dict) else dict(params)
