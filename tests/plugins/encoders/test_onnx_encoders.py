"""Token vectors and SPLADE on ONNX Runtime: a graph made here against NumPy, and real weights where they are at hand."""

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: E402

from bakeoff import registry  # noqa: E402
from bakeoff.errors import EmbedderError, ModelNotFoundError  # noqa: E402
from bakeoff.plugins.encoders.splade import SpladeEncoder  # noqa: E402
from bakeoff.plugins.encoders.token_vectors import TokenVectorsEncoder  # noqa: E402
from bakeoff.testing.reference_search import maxsim  # noqa: E402
from bakeoff.types import Batch, Metric, Role  # noqa: E402

WORDS = ["[UNK]", "[CLS]", "[SEP]", "cat", "sleeps", "tax", "due", "sofa"]
TEXTS = ["cat sleeps", "tax due tax", "", "sofa", "cat cat cat sofa"]


def build(folder: Path, width: int | None = None, *, broken: bool = False) -> np.ndarray:
    """A model whose output for a token is a row of a table; returns the table."""
    folder.mkdir()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(5).normal(size=(len(WORDS), width or len(WORDS))).astype(np.float32)
    table[1, 2] = np.nan if broken else table[1, 2]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        "tokens",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", "tokens", table.shape[1]])],
        [numpy_helper.from_array(table, "table")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, folder / "model.onnx")
    return table


def ids(text: str, *, special: bool = True) -> list[int]:
    own = [WORDS.index(word) for word in text.split()]
    return [1, *own, 2] if special else own


def test_splade_is_the_largest_logit_of_each_term(tmp_path: Path) -> None:
    table = build(tmp_path / "model")
    encoder = SpladeEncoder(SpladeEncoder.Params(folder=tmp_path / "model"))
    rows = encoder.embed(TEXTS, Role.DOCUMENT)
    for text, row in zip(TEXTS, rows, strict=True):
        weights = np.log1p(np.maximum(table[ids(text)], 0)).max(axis=0)
        assert row.terms.tolist() == np.flatnonzero(weights).tolist()
        assert row.weights == pytest.approx(weights[row.terms], rel=1e-6)
    few = SpladeEncoder(SpladeEncoder.Params(folder=tmp_path / "model", max_terms=2))
    for row, short in zip(rows, few.embed(TEXTS, Role.QUERY), strict=True):
        assert sorted(short.weights) == sorted(row.weights)[-2:] and (np.diff(short.terms) > 0).all()
    encoder.close()
    few.close()


def test_token_vectors_are_unit_rows_without_special_tokens(tmp_path: Path) -> None:
    table = build(tmp_path / "model", 6)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    encoder = TokenVectorsEncoder(TokenVectorsEncoder.Params(folder=tmp_path / "model", query_prompt="sofa "))
    for text, row in zip(TEXTS, encoder.embed(TEXTS, Role.DOCUMENT), strict=True):
        expected = unit[ids(text, special=False)] if text else unit[ids("")]
        assert np.allclose(row, expected, atol=1e-6)
    assert np.allclose(
        encoder.embed(["cat"], Role.QUERY).row(0), unit[ids("sofa cat", special=False)], atol=1e-6
    )
    assert encoder.info.dims == 6 and encoder.info.query_prompt == "sofa "
    encoder.close()


def test_a_folder_without_the_head_of_a_language_model_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "model", 4)
    with pytest.raises(EmbedderError, match="no masked-language-model head"):
        SpladeEncoder(SpladeEncoder.Params(folder=tmp_path / "model")).info  # noqa: B018


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        SpladeEncoder(SpladeEncoder.Params(folder=tmp_path / "model")).info  # noqa: B018


@pytest.mark.parametrize("plugin", [SpladeEncoder, TokenVectorsEncoder])
def test_nan_reaches_the_check_of_rows(tmp_path: Path, plugin: type) -> None:
    from bakeoff.pipeline.encoded_rows import check_encoded

    build(tmp_path / "model", broken=True)
    params = {"special": True} if plugin is TokenVectorsEncoder else {}
    encoder = plugin(plugin.Params(folder=tmp_path / "model", **params))
    with pytest.raises(EmbedderError, match="first is not finite"):
        check_encoded(encoder.embed(["cat"], Role.DOCUMENT), ["first"], encoder.info)
    encoder.close()


@pytest.mark.parametrize("name", ["minilm", "bge-small"])
def test_late_interaction_over_real_tokens_is_maxsim(tmp_path: Path, name: str) -> None:
    encoder = TokenVectorsEncoder(TokenVectorsEncoder.Params(model=name))
    try:
        rows = encoder.embed(
            ["a kitten naps on the sofa", "quarterly tax returns are due", "x"], Role.DOCUMENT
        )
    except ModelNotFoundError as exc:
        pytest.skip(str(exc))
    assert np.allclose(np.linalg.norm(rows.vectors, axis=1), 1, atol=1e-5)
    plugin = registry.load("stores", "exact")
    store = plugin(plugin.Params(), tmp_path)
    store.hold("tokens")
    store.create("x", encoder.info.dims, Metric.DOT)
    store.insert(Batch(np.arange(3, dtype=np.int64), tokens=rows))
    store.ready()
    query = encoder.embed(["where does the cat sleep?"], Role.QUERY).row(0)
    hits = store.search_tokens(query, 3, plugin.Query())
    assert hits.ids[0] == 0
    assert hits.scores == pytest.approx(maxsim(rows, query)[hits.ids], abs=1e-4)
    encoder.close()
