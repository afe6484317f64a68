"""A cross-encoder folder on ONNX Runtime: a small real graph that compares the two segments of a pair."""

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: E402

from bakeoff.errors import ModelNotFoundError, RerankerError  # noqa: E402
from bakeoff.plugins.rerankers.cross_encoder import CrossEncoderReranker  # noqa: E402

WORDS = ["[UNK]", "[CLS]", "[SEP]", "cat", "sleeps", "tax", "due", "sofa"]


def build(folder: Path, classes: int = 1) -> Path:
    """Scores = dot of the two segments' word counts: rows of an identity table, masked by segment and summed."""
    folder.mkdir()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.eye(len(WORDS), dtype=np.float32)
    table[:3] = 0  # the unknown word and the marks say nothing
    shape = ["pairs", "tokens"]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Cast", ["token_type_ids"], ["segment"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["segment", "last"], ["second"]),
        helper.make_node("Sub", ["one", "second"], ["first"]),
        helper.make_node("Mul", ["words", "first"], ["query_words"]),
        helper.make_node("Mul", ["words", "second"], ["passage_words"]),
        helper.make_node("ReduceSum", ["query_words", "middle"], ["query"], keepdims=0),
        helper.make_node("ReduceSum", ["passage_words", "middle"], ["passage"], keepdims=0),
        helper.make_node("Mul", ["query", "passage"], ["both"]),
        helper.make_node("ReduceSum", ["both", "middle"], ["score"], keepdims=1),
        helper.make_node("Neg", ["score"], ["against"]),
        helper.make_node("Concat", ["score", "against", "score"][-classes:], ["logits"], axis=1),
    ]
    constants = {
        "table": table,
        "last": np.array([2], np.int64),
        "middle": np.array([1], np.int64),
        "one": np.array(1, np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "pairs",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "token_type_ids")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", classes])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
        folder / "model.onnx",
    )
    return folder


def scores(folder: Path, query: str, passages: list[str], **params: int) -> list[float]:
    reranker = CrossEncoderReranker(CrossEncoderReranker.Params(folder=folder, **params))
    found = reranker.rerank(query, passages).tolist()
    reranker.close()
    return found


@pytest.mark.parametrize("classes", [1, 2])
def test_each_passage_has_its_score(tmp_path: Path, classes: int) -> None:
    folder = build(tmp_path / "model", classes)
    found = scores(folder, "cat sleeps", ["tax due", "cat cat sleeps", "cat", "", "sofa sleeps"])
    lead = 2 if classes == 2 else 1  # of two classes, x and −x, the lead of the second is 2x
    assert found == [0, 3 * lead, lead, 0, lead]
    assert scores(folder, "cat", []) == []


def test_a_long_passage_is_cut_and_the_query_is_not(tmp_path: Path) -> None:
    folder = build(tmp_path / "model")
    assert scores(folder, "cat sleeps", ["tax " * 50 + "cat"], max_tokens=16) == [0]
    assert scores(folder, "cat sleeps", ["cat " * 50], max_tokens=16) == [
        16 - 5
    ]  # three marks, two query words


def test_more_classes_than_a_cross_encoder_has(tmp_path: Path) -> None:
    with pytest.raises(RerankerError):
        scores(build(tmp_path / "model", 3), "cat", ["cat"])


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"model\.onnx"):
        scores(tmp_path, "cat", ["cat"])


def test_a_broken_graph(tmp_path: Path) -> None:
    folder = build(tmp_path / "model")
    (folder / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(RerankerError, match=r"model\.onnx"):
        scores(folder, "cat", ["cat"])
