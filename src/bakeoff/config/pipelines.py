"""Turns the modes of an experiment file into retrieval specifications: a mode, or a list of stages."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, cast

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config.experiment_file import RERANK_DEPTH, RawSpec
from bakeoff.config.modes import MODES, RERANK
from bakeoff.config.plan import PluginSpec, RerankSpec, RetrievalSpec
from bakeoff.config.plugin_spec import PluginSpecReader, label, own_parameters
from bakeoff.config.yaml_document import Keys
from bakeoff.protocols import HOLDS, Store, SupportsKeywords, SupportsSparse
from bakeoff.types import Json, JsonObject, VectorKind

MOST = 10_000
"""Most passages a stage may rerank."""


class ModeReader:
    """Reads the entries of `modes`; `rerankers` and `depth` are the experiment's."""

    def __init__(
        self,
        parts: PluginSpecReader,
        modes: Sequence[RawSpec | list[RawSpec]],
        rerankers: list[PluginSpec],
        depth: int,
    ) -> None:
        self._parts, self._rerankers, self._depth = parts, rerankers, depth
        self._placed = any(isinstance(one, list) and any(map(_is_rerank, one)) for one in modes)

    def ways(self, at: Keys, spec: RawSpec | list[RawSpec]) -> Iterator[RetrievalSpec]:
        """A plain mode alone and before each reranker; a pipeline with the stages it lists.

        If any pipeline has the stage `rerank`, the rerankers are used there and nowhere else.
        """
        if not isinstance(spec, list):
            behind = [] if self._placed else self._rerankers
            looks = [(), *((RerankSpec(part, label=part.label),) for part in behind)]
            for way in self._first(at, spec):
                yield from (_with(way, rerank) for rerank in looks)
            return
        if not spec:
            self._parts.refuse(at, "a pipeline has no stage. Write its stages, as in [bm25@200, rerank@20].")
        for way in self._first((*at, 0), spec[0]):
            stages = [self._looks((*at, i), one) for i, one in enumerate(spec[1:], 1)]
            for rerank in itertools.product(*stages):
                self._check_depths(at, way, rerank)
                yield _with(way, rerank)

    def _first(self, at: Keys, spec: RawSpec) -> Iterator[RetrievalSpec]:
        """The searches of a mode, one specification per combination of listed values."""
        written, params = self._parts.split(at, spec)
        name, depth = self._depth_of(at, written)
        kind = MODES.get(name) or self._unknown(at, name)
        where = (*at, written) if isinstance(spec, dict) else at
        for choice in itertools.product(*self._parts.options(params, where, name)):
            chosen = dict(choice)
            checked = self._parts.validate(kind.params, own_parameters("modes", chosen), where)
            mode = PluginSpec("modes", name, label(written, _parts_named(chosen)), checked)
            encoder = self._encoder(mode, where)
            keyword, search = self._keyword(mode, where) if kind.keywords else (None, None)
            yield RetrievalSpec(mode, keyword, search, encoder, depth)

    def _looks(self, at: Keys, spec: RawSpec) -> list[RerankSpec]:
        """The rerankers of a later stage."""
        written, params = self._parts.split(at, spec)
        name, depth = self._depth_of(at, written)
        if name in MODES:
            self._parts.refuse(at, f"{name} is a search mode and must come first; later stages only rerank.")
        if name == RERANK:
            return [self._look(part, depth) for part in self._rerankers] or self._none(at, written)
        where = (*at, written) if isinstance(spec, dict) else at
        return [self._look(self._parts.build("rerankers", name, params, where, label(name, params)), depth)]

    def _look(self, part: PluginSpec, depth: int | None) -> RerankSpec:
        many = depth or RERANK_DEPTH
        return RerankSpec(part, many, f"{part.label}@{many}")

    def _none(self, at: Keys, written: str) -> list[RerankSpec]:
        self._parts.refuse(
            at, f"{written} means the listed rerankers, and none is listed. Add rerankers: [maxsim]."
        )

    def _check_depths(self, at: Keys, way: RetrievalSpec, rerank: tuple[RerankSpec, ...]) -> None:
        before, whose = way.depth or self._depth, f"{way.mode.name} fetches"
        for one in rerank:
            if one.depth > before:
                problem = f"{one.label} looks at more passages than the {before} that {whose}"
                self._parts.refuse(at, f"{problem}. Lower it, or raise the stage before it.")
            before, whose = one.depth, f"{one.label} looks at"

    def _depth_of(self, at: Keys, written: str) -> tuple[str, int | None]:
        """Split `bm25@200` into name and number of passages."""
        name, mark, depth = written.partition("@")
        if not mark:
            return name, None
        if not depth.isdecimal() or not 1 <= int(depth) <= MOST:
            self._parts.refuse(
                at,
                f"{written}: @ must be followed by a number of passages, 1 to {MOST:,}, for example bm25@200.",
            )
        return name, int(depth)

    def _encoder(self, mode: PluginSpec, at: Keys) -> PluginSpec | None:
        """The encoder of a fusion's sparse vectors."""
        spec: RawSpec | None = getattr(mode.params, "encoder", None)
        if spec is None:
            return None
        part = self._parts.part("encoders", (*at, "encoder"), spec)
        if (kind := registry.load("encoders", part.name).vectors) != "sparse":
            self._parts.refuse(
                (*at, "encoder"),
                f"{part.name} makes {kind} vectors; a fusion takes sparse ones. Choose from: "
                f"{', '.join(encoder_names('sparse'))}.",
            )
        return part

    def _keyword(self, mode: PluginSpec, at: Keys) -> tuple[PluginSpec, BaseModel]:
        """The keyword engine, with k1 and b if it takes them, or a store of an encoder's vectors."""
        spec: RawSpec = mode.params.engine  # type: ignore[attr-defined] # every mode with keywords has it
        engine, params = self._parts.split((*at, "engine"), spec)
        where = (*at, "engine", engine) if isinstance(spec, dict) else (*at, "engine")
        plugin = cast("type[Store]", self._parts.plugin("stores", engine, where))
        sparse = getattr(mode.params, "encoder", None) is not None
        if not issubclass(plugin, SupportsSparse if sparse else SupportsKeywords):
            what, others = (
                ("sparse vectors", f"Choose from: {', '.join(stores_of('sparse'))}.")
                if sparse
                else ("words", "Choose another engine.")
            )
            self._parts.refuse(
                where, f"{engine} does not search by {what}, which {mode.name} needs. {others}"
            )
        query = dict(params.get("query") or {})
        for key in ("k1", "b"):
            value = getattr(mode.params, key)
            if value is not None:
                target = self._takes(
                    plugin=plugin,
                    engine=engine,
                    key=key,
                    value=value,
                    at=(*at, key),
                    params=params,
                    query=query,
                )
                target[key] = value
        part = self._parts.build("stores", engine, params, where, engine)
        return part, self._parts.validate(plugin.Query, query, (*where, "query"))

    def _takes(
        self,
        plugin: type[Store],
        engine: str,
        key: str,
        value: float,
        at: Keys,
        params: JsonObject,
        query: JsonObject,
    ) -> JsonObject:
        """Where an engine takes k1 or b: in its query arguments, its parameters, or nowhere."""
        if key in plugin.Query.model_fields:
            return query
        if key in plugin.Params.model_fields:
            return params
        group = next((name for name, model in _groups(plugin.Params) if key in model.model_fields), None)
        if group is not None:
            params[group] = {**params.get(group, {})}
            return cast(JsonObject, params[group])
        fixed: Mapping[str, float] = getattr(plugin, "fixed", {})
        if fixed.get(key) != value:
            reason = f"fixes {key} = {fixed[key]}" if key in fixed else f"does not say its {key}"
            self._parts.refuse(
                at, f"{engine} {reason}, so {key}: {value} can't be set. Remove engine or {key}."
            )
        return {}

    def _unknown(self, at: Keys, name: str) -> NoReturn:
        near = difflib.get_close_matches(name, MODES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        self._parts.refuse(at, f"no mode is called {name!r}.{hint} Known: {', '.join(MODES)}.")


def _is_rerank(stage: RawSpec) -> bool:
    """Whether a stage means the listed rerankers."""
    written = stage if isinstance(stage, str) else next(iter(stage), "")
    return written.partition("@")[0] == RERANK


def _groups(params: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Parameter groups, such as build, by name."""
    for name, field in params.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield name, field.annotation


def _with(way: RetrievalSpec, rerank: tuple[RerankSpec, ...]) -> RetrievalSpec:
    return replace(way, rerank=rerank)


def encoder_names(kind: VectorKind) -> list[str]:
    """Available encoders of a kind of vectors."""
    names = [one.name for one in registry.entries("encoders") if not one.missing]
    return [name for name in names if registry.load("encoders", name).vectors == kind]


def stores_of(kind: VectorKind) -> list[str]:
    """Available stores that hold a kind of vectors."""
    names = [one.name for one in registry.entries("stores") if not one.missing]
    return [name for name in names if issubclass(registry.load("stores", name), HOLDS[kind])]


def _parts_named(params: Mapping[str, Json]) -> JsonObject:
    """Parameters for a label: an engine or encoder by name, without its settings."""
    named = {key: params[key] for key in ("engine", "encoder") if isinstance(params.get(key), dict)}
    return {**params, **{key: next(iter(part), "") for key, part in named.items()}}
