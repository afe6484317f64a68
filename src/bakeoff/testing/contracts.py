"""Contracts of chunkers and embedders, and of all plug-ins, for pytest."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import ClassVar, cast, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.errors import BakeoffError, MissingExtraError
from bakeoff.pipeline.encoded_rows import check_encoded
from bakeoff.protocols import Chunker, Embedder, Encoder, Plugin, SupportsFit
from bakeoff.testing.reference_search import maxsim, sparse_products
from bakeoff.types import Document, Piece, Role, SparseRows, SparseVector, TokenRows

TEXTS = {
    "plain": "The quick brown fox.\n\nJumps over the lazy dog.\n",
    "crlf": "one\r\ntwo\r\n\r\nthree\r\n",
    "no newline at the end": "a single line",
    "unicode": "naïve café — 東京 🗼 e\u0301 ﬁ\n\nZwölf Boxkämpfer\n",
    "blank": " \n\t\n",
    "empty": "",
    "one long line": "word " * 20_000,
    "nul": "before\x00after\n",
}
LONG = {
    "markdown": "".join(
        f"{'#' * (1 + i % 3)} Part {i}\n\n"
        + "A plain sentence of some words ends here. Another one follows it! " * 12
        + "\n\n"
        for i in range(12)
    )
    + "- a line\n" * 300,
    "python": "".join(
        f'class Thing{i}:\n    """About things."""\n\n    def work(self):\n'
        + "        step = 1\n" * (3 + 40 * (i % 3))
        for i in range(9)
    ),
    "text": "word " * 3000 + "Der Flug am 3. Mai fiel aus. " * 80,
}
"""Documents long enough to reach every limit of a chunker."""
KINDS = ("text", "markdown", "python", "sql", "html", "nobody-knows-this-kind")


class PluginContract:
    """Contract of every plug-in: a version, parameters that reject unknown keys and have descriptions or
    plain names."""

    kind: ClassVar[str]
    name: ClassVar[str]
    params: ClassVar[dict[str, object]] = {}

    def plugin(self) -> type[Plugin]:
        """The class under test; skips with the registry's hint if its package is not installed."""
        try:
            return registry.load(self.kind, self.name)
        except MissingExtraError as exc:
            pytest.skip(str(exc))

    def test_has_version_and_parameters(self) -> None:
        plugin = self.plugin()
        assert isinstance(plugin.version, str) and plugin.version, "`version` is not a text"
        assert plugin.Params.model_config.get("extra") == "forbid", "Params accepts unknown keys"
        assert (plugin.__doc__ or "").strip(), "the class has no docstring"


class ChunkerContract(PluginContract):
    """Every piece is an exact span, every non-blank character is in one (F44, F45), and every parameter has
    an effect. `others` gives values for parameters whose other values can't be guessed, such as names."""

    kind = "chunkers"
    others: ClassVar[dict[str, list[object]]] = {}

    @pytest.fixture
    def chunker(self) -> Chunker:
        plugin = cast("type[Chunker]", self.plugin())
        return plugin(plugin.Params(**self.params))

    @pytest.mark.parametrize("case", TEXTS)
    def test_covers_every_character(self, chunker: Chunker, case: str) -> None:
        for kind in KINDS:
            _expect_cover(
                chunker, Document("folder/file", TEXTS[case], kind), "with the parameters of the test"
            )

    def test_other_values_cover_every_character(self) -> None:
        plugin = cast("type[Chunker]", self.plugin())
        for name in plugin.Params.model_fields:
            for params in self._tries(plugin, name):
                chunker = _make_chunker(plugin, params)
                if chunker is None:
                    continue
                for document in _long_documents():
                    _expect_cover(chunker, document, f"with {name}={params[name]}")

    def test_same_twice(self, chunker: Chunker) -> None:
        document = Document("folder/file", TEXTS["plain"] * 50, "markdown")
        assert list(chunker.chunk(document)) == list(chunker.chunk(document))

    def test_every_parameter_has_an_effect(self) -> None:
        plugin = cast("type[Chunker]", self.plugin())
        before = _cut_documents(plugin, self.params)
        idle = [
            name
            for name in plugin.Params.model_fields
            if not any(
                _cut_documents(plugin, tried) not in (before, None) for tried in self._tries(plugin, name)
            )
        ]
        assert not idle, f"no other value of {', '.join(idle)} changes a chunk; set values to try in `others`"

    def _tries(self, plugin: type[Chunker], name: str) -> Iterator[dict[str, object]]:
        usual = getattr(plugin.Params(**self.params), name)
        for value in (
            *self.others.get(name, []),
            *_other_values(plugin.Params.model_fields[name].annotation, usual),
        ):
            yield {**self.params, name: value}


def _cut_documents(plugin: type[Chunker], params: dict[str, object]) -> list[Piece] | None:
    """Pieces of the long documents; None if the parameters are rejected."""
    chunker = _make_chunker(plugin, params)
    if chunker is None:
        return None
    return [piece for document in _long_documents() for piece in chunker.chunk(document)]


def _make_chunker(plugin: type[Chunker], params: dict[str, object]) -> Chunker | None:
    """A chunker; None if the parameters are rejected."""
    try:
        return plugin(plugin.Params(**params))
    except (ValidationError, BakeoffError):
        return None


def _long_documents() -> list[Document]:
    return [Document(f"folder/file.{kind}", text, kind) for kind, text in LONG.items()]


def _expect_cover(chunker: Chunker, document: Document, when: str) -> None:
    """Assert that the pieces are spans in order, and that together they hold every non-blank character."""
    text, pieces = document.text, list(chunker.chunk(document))
    outside = [piece for piece in pieces if not 0 <= piece.start < piece.end <= len(text)]
    assert not outside, f"{when}, {outside[0]} is empty or outside a text of {len(text)} characters"
    starts = [piece.start for piece in pieces]
    assert starts == sorted(starts), f"{when}, the pieces are not in the order of their starts"
    covered = np.zeros(len(text), bool)
    for piece in pieces:
        covered[piece.start : piece.end] = True
    lost = [at for at in np.flatnonzero(~covered) if text[at].strip()]
    assert not lost, f"{when}, no piece holds character {lost[0]}: {text[lost[0] :][:40]!r}"


def _other_values(annotation: object, usual: object) -> list[object]:
    """Other values of a parameter: the other choices, or smaller and larger numbers."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [one for one in annotation if one != usual]
    if isinstance(usual, bool):
        return [not usual]
    if isinstance(usual, int | float):
        return [usual * 2, usual / 2 if isinstance(usual, float) else usual // 2, usual + 1, 0, 1, 3]
    return [one for one in get_args(annotation) if one != usual]


class EncoderContract(PluginContract):
    """Rows of the declared kind, one per text, independent of the rest of the batch, ready for search."""

    kind = "encoders"
    corpus: ClassVar[tuple[str, ...]] = (
        "a cat sleeps on the sofa",
        "the kitten is sleeping on a couch",
        "quarterly tax returns are due",
    )

    @pytest.fixture(scope="class")
    @classmethod
    def encoder(cls) -> Iterator[Encoder]:
        plugin = registry.load("encoders", cls.name)
        encoder = plugin(plugin.Params(**cls.params))
        if isinstance(encoder, SupportsFit):
            encoder.fit(cls.corpus)
        yield encoder
        encoder.close()

    @pytest.mark.parametrize("role", Role)
    def test_rows_are_those_of_texts_alone(self, encoder: Encoder, role: Role) -> None:
        texts = [*self.corpus, "", "🗼 unknown-word", "a cat"]
        together = encoder.embed(texts, role)
        checked = check_encoded(together, texts, encoder.info)
        assert sum(checked.counts) == together.starts[-1] and together.shape == (
            len(texts),
            encoder.info.dims,
        )
        assert isinstance(together, SparseRows if encoder.vectors == "sparse" else TokenRows)
        for i, text in enumerate(texts):
            alone = encoder.embed([text], role)
            assert np.allclose(_numbers(alone.row(0)), _numbers(together.row(i)), atol=1e-5)

    def test_no_texts(self, encoder: Encoder) -> None:
        assert len(encoder.embed([], Role.DOCUMENT)) == 0

    def test_says_what_it_is(self, encoder: Encoder) -> None:
        assert encoder.info.dims > 0 and encoder.info.weights and encoder.info.revision

    def test_near_texts_are_near(self, encoder: Encoder) -> None:
        rows, asked = (encoder.embed([*self.corpus], role) for role in (Role.DOCUMENT, Role.QUERY))
        score = sparse_products if encoder.vectors == "sparse" else maxsim
        best = [int(score(rows, asked.row(place)).argmax()) for place in range(len(asked))]
        assert best == [0, 1, 2]


def _numbers(row: SparseVector | np.ndarray) -> np.ndarray:
    return row.weights if isinstance(row, SparseVector) else row


class EmbedderContract(PluginContract):
    """Finite float32 rows, one per text, independent of the rest of the batch."""

    kind = "embedders"

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Embedder]:
        plugin = registry.load("embedders", cls.name)
        embedder = plugin(plugin.Params(**cls.params))
        yield embedder
        embedder.close()

    def test_rows_are_finite_and_in_order(self, embedder: Embedder) -> None:
        texts = ["a short text", "a much longer text about something else " * 20, "третий текст", "x"]
        together = embedder.embed(texts, Role.DOCUMENT)
        assert together.shape == (len(texts), embedder.info.dims) and together.dtype == np.float32
        assert np.isfinite(together).all() and together[:2].any(axis=1).all()
        for i, text in enumerate(texts):
            alone = embedder.embed([text], Role.DOCUMENT)[0]
            assert (
                float(alone @ together[i]) / float(np.linalg.norm(alone) * np.linalg.norm(together[i])) > 0.98
            )

    def test_odd_texts(self, embedder: Embedder) -> None:
        rows = embedder.embed(["", " ", "\x00", "🗼", "word " * 5000], Role.DOCUMENT)
        assert rows.shape == (5, embedder.info.dims) and np.isfinite(rows).all()

    def test_no_texts(self, embedder: Embedder) -> None:
        assert embedder.embed([], Role.DOCUMENT).shape == (0, embedder.info.dims)

    def test_same_twice(self, embedder: Embedder) -> None:
        texts = ["one text", "another text"]
        first, second = (embedder.embed(texts, Role.QUERY) for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_says_what_it_is(self, embedder: Embedder) -> None:
        info = embedder.info
        assert info.dims > 0 and info.weights and info.revision
        rows = embedder.embed(["a text"], Role.QUERY)
        assert info.normalised == bool(abs(np.linalg.norm(rows[0]) - 1) < 1e-3)

    def test_near_texts_are_near(self, embedder: Embedder) -> None:
        cat, kitten, tax = embedder.embed(
            [
                "a cat sleeps on the sofa",
                "the kitten is sleeping on a couch",
                "quarterly tax returns are due",
            ],
            Role.DOCUMENT,
        )
        assert float(cat @ kitten) > float(cat @ tax)
