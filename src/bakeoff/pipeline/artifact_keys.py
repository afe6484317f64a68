"""Cache keys of artifacts: two systems share an artifact if its parts have the same names and parameters."""

from __future__ import annotations

from bakeoff import registry
from bakeoff.config.plan import PluginSpec, System
from bakeoff.pipeline.once_map import Key
from bakeoff.protocols import SupportsFit, SupportsStoredTokens
from bakeoff.types import FULL_FORM

IndexParts = tuple[PluginSpec, PluginSpec, PluginSpec | None]
"""The store, chunker and embedder of an index; a text-only index has no embedder."""


def index_parts(system: System) -> list[tuple[IndexParts, bool]]:
    """Return the parts of each index of a system, and whether it holds both vectors and texts."""
    parts: list[tuple[IndexParts, bool]] = []
    if system.store is not None:
        native = "native" in system.legs
        parts.append(((system.store, system.chunker, system.embedder), native))
    if system.keyword is not None:
        parts.append(((system.keyword, system.chunker, system.encoder), False))
    return parts


def vectors_key(embedder: PluginSpec, system: System) -> Key:
    """Key of the vectors a model makes for a system: of the chunks, or of the queries if the chunks came with
    vectors."""
    existing = system.store is not None and system.store.existing is not None
    if existing:
        return ("queries", model_name(embedder.full), "")
    return ("vectors", model_name(embedder), system.chunker.label)


def index_key(
    step: str, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, texts: bool
) -> Key:
    """Key of one step of building an index."""
    return (step, store_identity(store), chunker.label, model_name(embedder) if embedder else "", texts)


def model_name(part: PluginSpec) -> str:
    """Name of a model: its label, prefixed if an encoder shares it with an embedder."""
    return part.label if part.kind == "embedders" else f"encoder {part.label}"


def reads_corpus(part: PluginSpec) -> bool:
    """Whether a model collects corpus statistics before it encodes."""
    return issubclass(registry.load(part.kind, part.name), SupportsFit)


def encoder_key(part: PluginSpec, chunker: PluginSpec) -> Key:
    """Key of an encoder, including the chunker if the encoder reads its chunks first."""
    return ("encoder", part.label, chunker.label if reads_corpus(part) else "")


def passage_encoders(system: System) -> list[PluginSpec]:
    """The encoders of the passage vectors that a system's rerankers compare; a retriever's passages have none."""
    chosen = [] if system.retriever is not None else [passage_encoder(one.part) for one in system.rerank]
    return [part for part in chosen if part is not None]


def passage_encoder(reranker: PluginSpec) -> PluginSpec | None:
    """The encoder whose stored token vectors a reranker compares; None if it reads passages as text."""
    plugin: type = registry.load("rerankers", reranker.name)
    chosen = plugin.passage_encoder(reranker.params) if issubclass(plugin, SupportsStoredTokens) else None
    return PluginSpec("encoders", chosen[0], reranker.label, chosen[1]) if chosen else None


def store_identity(store: PluginSpec) -> str:
    """Identity of a store: plug-in name and parameters (labels are user-chosen and not unique)."""
    own = f"{store.name} {store.params.model_dump_json()}"
    if store.form.storage != FULL_FORM.storage:
        own += f" {store.form.storage}"
    return f"{own} {store.existing}" if store.existing is not None else own
