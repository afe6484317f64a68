"""Contract suites for plug-in authors: inherit, name the plug-in, run pytest.

    from bakeoff.testing import StoreContract

    class TestMyStore(StoreContract):
        name = "mystore"

A gap is declared with a reason and shown as a skip: `gaps = {"reopen": "keeps everything in memory"}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError, StoreError
from bakeoff.fingerprint import file_fingerprint
from bakeoff.protocols import SupportsDelete, SupportsKeywords, SupportsReopen, SupportsVectors
from bakeoff.types import Batch, Document, Metric, Role

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
KINDS = ("text", "markdown", "python", "sql", "html", "nobody-knows-this-kind")


class PluginContract:
    """What every plug-in owes: a version, parameters that refuse unknown keys and have descriptions or plain names."""

    kind: ClassVar[str]
    name: ClassVar[str]
    params: ClassVar[dict[str, Any]] = {}
    gaps: ClassVar[dict[str, str]] = {}

    def plugin(self) -> Any:
        """The class under test; where its package is not installed the test is skipped with the registry's hint."""
        try:
            return registry.load(self.kind, self.name)
        except MissingExtraError as exc:
            pytest.skip(str(exc))

    def needs(self, ability: str, there: bool) -> None:
        """Skip with the declared reason; an undeclared gap is a failure."""
        if ability in self.gaps:
            pytest.skip(f"{self.name}: {self.gaps[ability]}")
        if not there:
            pytest.fail(f"{self.name} has no {ability} and does not declare the gap")

    def test_has_version_and_parameters(self) -> None:
        plugin = self.plugin()
        assert isinstance(plugin.version, str) and plugin.version
        assert plugin.Params.model_config.get("extra") == "forbid"
        assert (plugin.__doc__ or "").strip()


class ChunkerContract(PluginContract):
    """Every piece is a true span, and every non-blank character is in one (F44, F45)."""

    kind = "chunkers"

    @pytest.fixture
    def chunker(self) -> Any:
        plugin = self.plugin()
        return plugin(plugin.Params(**self.params))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("case", TEXTS)
    def test_covers_every_character(self, chunker: Any, case: str, kind: str) -> None:
        text = TEXTS[case]
        pieces = list(chunker.chunk(Document("folder/file", text, kind)))
        assert all(0 <= piece.start < piece.end <= len(text) for piece in pieces)
        assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
        covered = np.zeros(len(text), bool)
        for piece in pieces:
            covered[piece.start : piece.end] = True
        assert not "".join(
            character for character, kept in zip(text, covered, strict=True) if not kept
        ).strip()

    def test_same_twice(self, chunker: Any) -> None:
        document = Document("folder/file", TEXTS["plain"] * 50, "markdown")
        assert list(chunker.chunk(document)) == list(chunker.chunk(document))


class EmbedderContract(PluginContract):
    """Finite float32 rows, one a text, the same whatever else is in the batch."""

    kind = "embedders"

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Any]:
        plugin = registry.load(cls.kind, cls.name)
        made = plugin(plugin.Params(**cls.params))
        yield made
        made.close()

    def test_rows_are_finite_and_in_order(self, embedder: Any) -> None:
        texts = ["a short text", "a much longer text about something else " * 20, "третий текст", "x"]
        together = embedder.embed(texts, Role.DOCUMENT)
        assert together.shape == (len(texts), embedder.info.dims) and together.dtype == np.float32
        assert np.isfinite(together).all()
        for i, text in enumerate(texts):
            alone = embedder.embed([text], Role.DOCUMENT)[0]
            assert (
                float(alone @ together[i]) / float(np.linalg.norm(alone) * np.linalg.norm(together[i])) > 0.98
            )

    def test_odd_texts(self, embedder: Any) -> None:
        rows = embedder.embed(["", " ", "\x00", "🗼", "word " * 5000], Role.DOCUMENT)
        assert rows.shape == (5, embedder.info.dims) and np.isfinite(rows).all()

    def test_no_texts(self, embedder: Any) -> None:
        assert embedder.embed([], Role.DOCUMENT).shape == (0, embedder.info.dims)

    def test_same_twice(self, embedder: Any) -> None:
        texts = ["one text", "another text"]
        first, second = (embedder.embed(texts, Role.QUERY) for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_says_what_it_is(self, embedder: Any) -> None:
        info = embedder.info
        assert info.dims > 0 and info.weights and info.revision
        rows = embedder.embed(["a text"], Role.QUERY)
        assert info.normalised == bool(abs(np.linalg.norm(rows[0]) - 1) < 1e-3)

    def test_near_texts_are_near(self, embedder: Any) -> None:
        cat, kitten, tax = embedder.embed(
            [
                "a cat sleeps on the sofa",
                "the kitten is sleeping on a couch",
                "quarterly tax returns are due",
            ],
            Role.DOCUMENT,
        )
        assert float(cat @ kitten) > float(cat @ tax)


class StoreContract(PluginContract):
    """Round trip, order, direction, meaning of a score, short lists, empty collections, reopening, deletion.

    A metric an engine lacks is a gap by its name ("dot"): `create` must then refuse it.
    """

    kind = "stores"
    rows: ClassVar[int] = 300
    dims: ClassVar[int] = 16
    recall: ClassVar[float] = 0.95
    score_error: ClassVar[float] = 1e-3

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        folder = tmp_path / "home"
        folder.mkdir()
        return folder

    @pytest.fixture
    def store(self, home: Path) -> Iterator[Any]:
        made = self.made(home)
        yield made
        made.close()

    def made(self, home: Path) -> Any:
        """A new instance on a folder."""
        plugin = self.plugin()
        return plugin(plugin.Params(**self.params), home)

    def query(self) -> Any:
        """The default query arguments."""
        return self.plugin().Query()

    def vectors(self) -> np.ndarray:
        """Seeded vectors of unequal length, so that the metrics differ."""
        generator = np.random.default_rng(7)
        scale = generator.uniform(0.5, 2.0, (self.rows, 1))
        return (generator.normal(size=(self.rows, self.dims)) * scale).astype(np.float32)

    def filled(self, store: Any, metric: Metric = Metric.COSINE) -> np.ndarray:
        """Insert the seeded vectors in two batches with ids that do not start at 0."""
        rows, ids = self.vectors(), np.arange(self.rows, dtype=np.int64) + 1000
        store.create("contract_rows", self.dims, metric)
        half = self.rows // 2
        for part in (slice(0, half), slice(half, None)):
            store.insert(Batch(ids[part], vectors=rows[part]))
        store.ready()
        return rows

    @pytest.mark.parametrize("metric", list(Metric))
    def test_finds_the_nearest_in_order(self, store: Any, metric: Metric) -> None:
        self.needs("vectors", isinstance(store, SupportsVectors))
        if metric in self.gaps:
            with pytest.raises(StoreError):
                store.create("contract_rows", self.dims, metric)
        self.needs(metric.value, there=True)
        rows = self.filled(store, metric)
        found, wanted = 0, 0
        for vector in rows[:20] * np.float32(0.9) + np.float32(0.05):
            hits = store.search(vector, 10, self.query())
            assert len(hits.ids) == 10 and len(set(hits.ids.tolist())) == 10
            assert (np.diff(hits.scores) <= 1e-5).all()
            np.testing.assert_allclose(
                hits.scores,
                similarity(rows[hits.ids - 1000], vector, metric),
                rtol=self.score_error,
                atol=self.score_error,
            )
            truth = exact(rows, vector, metric)[:10] + 1000
            found += len(set(truth.tolist()) & set(hits.ids.tolist()))
            wanted += 10
        assert found / wanted >= self.recall

    def test_many_threads_get_the_answers_one_gets(self, store: Any, home: Path) -> None:
        """A store is opened in one thread, searched in others, at once, and closed in a third."""
        self.needs("vectors", isinstance(store, SupportsVectors))
        rows = self.filled(store)
        if hasattr(store, "open"):
            store.close()
            store = self.made(home)
            store.open("contract_rows", self.dims, Metric.COSINE)
        alone = [store.search(row, 10, self.query()).ids.tolist() for row in rows]
        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(lambda row: store.search(row, 10, self.query()).ids.tolist(), rows))
            threads.submit(store.close).result()
        assert together == alone

    def test_k_larger_than_the_collection(self, store: Any) -> None:
        self.needs("vectors", isinstance(store, SupportsVectors))
        rows = self.filled(store)
        hits = store.search(rows[0], self.rows * 2, self.query())
        assert set(hits.ids.tolist()) == {*range(1000, 1000 + self.rows)}

    def test_empty_collection(self, store: Any) -> None:
        self.needs("vectors", isinstance(store, SupportsVectors))
        store.create("contract_empty", self.dims, Metric.COSINE)
        store.ready()
        assert len(store.search(self.vectors()[0], 5, self.query()).ids) == 0

    def test_create_replaces(self, store: Any) -> None:
        self.needs("vectors", isinstance(store, SupportsVectors))
        rows = self.filled(store)
        store.create("contract_rows", self.dims, Metric.COSINE)
        store.insert(Batch(np.array([5], np.int64), vectors=rows[:1]))
        store.ready()
        assert store.search(rows[0], 10, self.query()).ids.tolist() == [5]

    def test_reopens(self, store: Any, home: Path) -> None:
        self.needs("reopen", isinstance(store, SupportsReopen))
        self.needs("vectors", isinstance(store, SupportsVectors))
        rows = self.filled(store)
        before = store.search(rows[3], 5, self.query())
        store.close()
        again = self.made(home)
        assert again.open("contract_rows", self.dims, Metric.COSINE) == self.rows
        after = again.search(rows[3], 5, self.query())
        again.close()
        assert before.ids.tolist() == after.ids.tolist()

    def test_opening_leaves_the_files_as_they_are(self, store: Any, home: Path) -> None:
        """An index is sealed and moved when it is built, and each file is verified before it is opened again."""
        self.needs("reopen", isinstance(store, SupportsReopen))
        self.needs("vectors", isinstance(store, SupportsVectors))
        rows = self.filled(store)
        store.close()
        moved = home.rename(home.with_name("moved"))
        before = {path: file_fingerprint(path) for path in moved.rglob("*") if path.is_file()}
        again = self.made(moved)
        again.open("contract_rows", self.dims, Metric.COSINE)
        again.search(rows[3], 5, self.query())
        again.close()
        assert {path: file_fingerprint(path) for path in before} == before

    def test_opening_what_is_not_there(self, store: Any) -> None:
        self.needs("reopen", isinstance(store, SupportsReopen))
        with pytest.raises(StoreError):
            store.open("contract_nothing", self.dims, Metric.COSINE)

    def test_large_ids(self, store: Any) -> None:
        self.needs("vectors", isinstance(store, SupportsVectors))
        rows, ids = self.vectors()[:50], np.arange(50, dtype=np.int64) * 3 + 2**40
        store.create("contract_ids", self.dims, Metric.COSINE)
        store.insert(Batch(ids, vectors=rows))
        store.ready()
        assert store.search(rows[7], 1, self.query()).ids.tolist() == [2**40 + 21]

    def test_deletes(self, store: Any) -> None:
        self.needs("delete", isinstance(store, SupportsDelete))
        rows = self.filled(store)
        store.delete(np.array([1000], np.int64))
        assert 1000 not in store.search(rows[0], 5, self.query()).ids.tolist()

    def test_keywords(self, store: Any, home: Path) -> None:
        self.needs("keywords", isinstance(store, SupportsKeywords))
        texts = ["the red apple", "a green pear", "red red wine, 東京", ""]
        store.create("contract_texts", 0, Metric.COSINE)
        store.insert(Batch(np.arange(10, 14, dtype=np.int64), texts=texts))
        store.ready()
        assert store.search_text("red", 10, self.query()).ids.tolist()[0] in (10, 12)
        assert set(store.search_text("red apple", 10, self.query()).ids.tolist()) == {10, 12}
        assert len(store.search_text("", 10, self.query()).ids) == 0
        assert len(store.search_text('AND ( "', 10, self.query()).ids) == 0
        if hasattr(store, "open"):
            store.close()
            again = self.made(home)
            assert again.open("contract_texts", 0, Metric.COSINE) == 4
            assert set(again.search_text("red apple", 10, self.query()).ids.tolist()) == {10, 12}
            again.close()


def similarity(rows: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """What a store's score means: the cosine, the inner product, or minus the squared distance."""
    wide, one = rows.astype(np.float64), vector.astype(np.float64)
    if metric is Metric.L2:
        return -((wide - one) ** 2).sum(axis=1)
    dot = wide @ one
    return dot / (np.linalg.norm(wide, axis=1) * np.linalg.norm(one)) if metric is Metric.COSINE else dot


def exact(rows: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """Row numbers, nearest first, by a plain computation in double precision."""
    return np.argsort(-similarity(rows, vector, metric), kind="stable")
