"""The models of an experiment, each loaded once, and what is known about them before they embed."""

from __future__ import annotations

from collections.abc import Callable

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.pipeline.artifact_keys import encoder_key, model_name, store_identity
from bakeoff.pipeline.canary import OWN, RunCanary, check_canary, make_canary, pooling_note
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import fit_encoder, start_embedder
from bakeoff.pipeline.lengths import TokenLengths, token_lengths
from bakeoff.pipeline.once_map import OnceMap
from bakeoff.protocols import Embedder, Encoder, Reranker, SupportsFit, VectorModel
from bakeoff.runtime.events import WarningRaised


class SharedModels:
    """Loads embedders, encoders and rerankers; `chunking` returns the chunks of a chunker."""

    def __init__(
        self, shared: OnceMap, chunking: Callable[[PluginSpec], ChunkedCorpus], context: StageContext
    ) -> None:
        self._shared, self._chunking, self._context = shared, chunking, context

    def embedder(self, part: PluginSpec) -> Embedder:
        """Return a model, loaded once for all its vector forms."""
        part, plugin = part.full, registry.load("embedders", part.name)

        def make() -> Embedder:
            model: Embedder = plugin(part.params)
            if note := pooling_note(part.label, model):
                self._context.emit(WarningRaised(note))
            return model

        return self._shared.once(("embedder", part.label), make)

    def pooling_notes(self) -> list[str]:
        """Notes on the open models that pool in another way than they were trained with."""
        notes = (pooling_note(str(key[1]), model) for key, model in self._shared.items_of("embedder"))
        return sorted(filter(None, notes))

    def model(self, part: PluginSpec, chunker: PluginSpec) -> VectorModel:
        """Return an embedder or encoder; one with corpus statistics has read these chunks."""
        if part.kind == "embedders":
            return self.embedder(part)
        return self._shared.once(encoder_key(part, chunker), lambda: self._open_encoder(part, chunker))

    def _open_encoder(self, part: PluginSpec, chunker: PluginSpec) -> Encoder:
        plugin, language = registry.load("encoders", part.name), ""
        if issubclass(plugin, SupportsFit):
            language = self._chunking(chunker).language
        encoder = plugin(part.in_language(language).params)
        if isinstance(encoder, SupportsFit):
            fit_encoder(part.in_language(language), encoder, self._chunking(chunker), self._context)
        return encoder

    def start(self, part: PluginSpec, chunker: PluginSpec) -> float | None:
        """Seconds until a model was loaded and returned its first vector in this run; None if it rejected the
        text."""

        def make() -> float | None:
            first = start_embedder(self.model(part, chunker))
            full = part.full
            key = ("embedder", full.label) if part.kind == "embedders" else encoder_key(part, chunker)
            return None if first is None else self._shared.slot(key).seconds + first

        return self._shared.once(("start", model_name(part.full)), make)

    def reranker(self, part: PluginSpec) -> Reranker:
        """Return a reranker, loaded once."""
        plugin = registry.load("rerankers", part.name)
        return self._shared.once(("reranker", store_identity(part)), lambda: plugin(part.params))

    def canary(self, part: PluginSpec, chunking: ChunkedCorpus) -> RunCanary:
        """A model's vectors of the fixed texts, and whether they changed."""

        def make() -> RunCanary:
            own = embedded_texts(chunking.chunks.slice(0, OWN))
            canary = make_canary(part, self.embedder(part), own)
            return RunCanary(canary, check_canary(self._context.cache, part, canary) if canary else "")

        return self._shared.once(("canary", part.label), make)

    def known_canaries(self) -> list[RunCanary]:
        """The canaries made so far, by model."""
        canaries = [one for one in self._shared.values_of("canary") if isinstance(one, RunCanary)]
        return sorted(canaries, key=lambda one: one.canary.embedder if one.canary else "")

    def lengths(self, part: PluginSpec, chunker: PluginSpec) -> TokenLengths | None:
        """Chunk lengths in a model's tokens."""
        return self._shared.once(
            ("lengths", model_name(part), chunker.label),
            lambda: token_lengths(part, self.model(part, chunker), self._chunking(chunker), self._context),
        )

    def known_lengths(self) -> list[TokenLengths]:
        """The token lengths counted so far, by model and chunker."""
        lengths = [one for one in self._shared.values_of("lengths") if isinstance(one, TokenLengths)]
        return sorted(lengths, key=lambda one: (one.embedder, one.chunker))
