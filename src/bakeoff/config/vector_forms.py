"""Vector forms in an experiment file: `dims` of an embedder, `storage` and `rescore` of a store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bakeoff import registry
from bakeoff.config.experiment_file import RawSpec
from bakeoff.config.model_names import catalogued_model
from bakeoff.config.plan import PluginSpec
from bakeoff.config.plugin_spec import PluginSpecReader, short
from bakeoff.config.yaml_document import Keys
from bakeoff.protocols import store_storages
from bakeoff.types import STORAGES, Json, JsonObject, Metric, VectorForm

FORM_KEYS = {"embedders": ("dims",), "stores": ("storage", "rescore")}
"""Keys that are not plug-in parameters: each value is another form of the same vectors."""
MOST_RESCORED = 100


class FormReader:
    """Reads parts with their vector forms."""

    def __init__(self, parts: PluginSpecReader, metric: Metric) -> None:
        self._parts, self._metric = parts, metric

    def parts(self, kind: str, at: Keys, spec: RawSpec) -> Iterator[PluginSpec]:
        """The part at a position in each of its vector forms."""
        name, params = self._parts.split(at, spec)
        forms = {key: params[key] for key in FORM_KEYS.get(kind, ()) if key in params}
        if not forms:
            yield self._parts.part(kind, at, spec)
            return
        plain: JsonObject = {key: value for key, value in params.items() if key not in forms}
        part = self._parts.part(kind, at, {name: plain})
        if kind == "embedders" and _is_own_parameter(part, forms["dims"]):
            yield self._parts.part(kind, at, spec)
            return
        where = (*at, name)
        for choice in itertools.product(*self._parts.options(forms, where)):
            for key, value in choice:
                self._check(part, key, value, (*where, key))
            form = VectorForm(**dict(choice))
            yield replace(part, label=_label(part.label, form), form=form, family=part.label)

    def check_rescored(self, at: Keys, stores: Sequence[PluginSpec], embedders: Sequence[PluginSpec]) -> None:
        """Raise for rescoring a `stores` entry without a small form."""
        rescored = [one for one in stores if one.form.rescore]
        if rescored and not any(is_small(model, store) for model in embedders for store in rescored):
            self._parts.refuse(
                at,
                f"rescore: {rescored[0].form.rescore} has no small form to rescore: every vector is full. Add storage: "
                "[float32, int8], or dims: [256, 64] to an embedder; or remove it.",
            )

    def _check(self, part: PluginSpec, key: str, value: Json, at: Keys) -> None:
        check = {"dims": self._check_dims, "storage": self._check_storage, "rescore": self._check_rescore}[
            key
        ]
        check(part, value, at)

    def _check_dims(self, part: PluginSpec, value: Json, at: Keys) -> None:
        if not _is_whole(value) or value < 1:
            self._parts.refuse(at, f"dims: {value!r} must be a whole number of 1 or more, as in [256, 64].")
        entry = catalogued_model(part)
        if entry is not None and entry.dims is not None and value > entry.dims:
            self._parts.refuse(
                at, f"dims: {value} is more than the {entry.dims} of {part.label}. Lower it, or remove it."
            )

    def _check_storage(self, part: PluginSpec, value: Json, at: Keys) -> None:
        if part.existing is not None:
            self._parts.refuse(at, "storage can't be set for an existing collection. Remove it.")
        had = store_storages(registry.load("stores", part.name))
        if value not in STORAGES or value not in had:
            why = f"{part.name} keeps vectors as {', '.join(had)}"
            self._parts.refuse(at, f"storage: {value!r} is not available: {why}.")
        if value == "binary" and self._metric is Metric.L2:
            self._parts.refuse(
                at, "storage: binary keeps directions only, which the metric l2 does not compare. Use cosine."
            )

    def _check_rescore(self, part: PluginSpec, value: Json, at: Keys) -> None:
        if not _is_whole(value) or not 0 <= value <= MOST_RESCORED:
            self._parts.refuse(
                at,
                f"rescore: {value!r} must be a whole number up to {MOST_RESCORED}: candidates fetched for each k.",
            )
        if part.existing is not None:
            self._parts.refuse(
                at, "the full vectors of an existing collection are not available. Remove rescore."
            )


def is_small(embedder: PluginSpec, store: PluginSpec) -> bool:
    """Whether a model's vectors in a store are smaller than its full ones, as far as the catalogue knows."""
    entry = catalogued_model(embedder)
    cut = embedder.form.dims is not None and (entry is None or embedder.form.dims != entry.dims)
    return cut or store.form.storage != "float32"


def fit_rescore(embedder: PluginSpec, store: PluginSpec) -> PluginSpec:
    """The store without rescoring if vectors are full."""
    if not store.form.rescore or is_small(embedder, store):
        return store
    form = replace(store.form, rescore=0)
    return replace(store, form=form, label=_label(store.family, form))


def _label(label: str, form: VectorForm) -> str:
    inner = short(form.chosen())
    if not inner:
        return label
    return f"{label[:-1]} {inner})" if label.endswith(")") else f"{label}({inner})"


def _is_own_parameter(part: PluginSpec, dims: Json) -> bool:
    """Whether a length is requested from the model itself, by a plug-in parameter."""
    return "dims" in type(part.params).model_fields and not isinstance(dims, list)


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
