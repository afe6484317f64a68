"""Exported ONNX models: the real encoder, and a small graph whose vectors can be computed by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.plugins.embedders.onnx import OnnxEmbedder
from bakeoff.storage.weights import find
from bakeoff.types import Role

TABLE = np.random.default_rng(3).normal(size=(64, 6)).astype(np.float32)


@pytest.fixture
def exported(tiny: Path, tmp_path: Path) -> Path:
    """A folder whose graph looks up one vector a token, with the inputs and output of a usual export."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", 6])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["token_type_ids"], ["kinds"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["mask", "kinds"], ["kept"]),
        helper.make_node("Unsqueeze", ["kept", "axis"], ["wide"]),
        helper.make_node("Mul", ["rows", "wide"], ["last_hidden_state"]),
    ]
    constants = [
        numpy_helper.from_array(TABLE, "table"),
        numpy_helper.from_array(np.array([2], np.int64), "axis"),
    ]
    graph = helper.make_graph(nodes, "lookup", inputs, [output], constants)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
        tmp_path / "model.onnx",
    )
    shutil.copy(tiny / "tokenizer.json", tmp_path)
    return tmp_path


def made(folder: Path, **params: object) -> OnnxEmbedder:
    return OnnxEmbedder(OnnxEmbedder.Params.model_validate({"folder": folder, **params}))


@pytest.mark.slow
def test_the_real_encoder_gives_the_same_vectors_from_a_folder(
    minilm: MiniLMEmbedder, tmp_path: Path
) -> None:
    shutil.copy(minilm._graph(), tmp_path / "model.onnx")
    shutil.copy(minilm._weights.folder / "tokenizer.json", tmp_path)
    embedder = made(tmp_path, name="all-MiniLM-L6-v2", max_tokens=256)
    texts = ["A man is eating food.", "", "longer words " * 300, "東京"]
    rows = embedder.embed(texts, Role.DOCUMENT)
    assert np.sum(rows * minilm.embed(texts, Role.DOCUMENT), axis=1).min() > 0.99999
    assert (embedder.info.dims, embedder.info.pooling, embedder.info.normalised) == (384, "graph", True)
    embedder.close()


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_tokens_are_pooled_as_told(exported: Path, pooling: str) -> None:
    embedder = made(exported, pooling=pooling, normalise=False)
    rows = embedder.embed(["w1 w2", "w3"], Role.DOCUMENT)
    for row, ids in zip(rows, embedder._tokens.encode(["w1 w2", "w3"]), strict=True):
        tokens = TABLE[ids]
        expected = {"mean": tokens.mean(axis=0), "cls": tokens[0], "last": tokens[-1]}[pooling]
        assert np.allclose(row, expected, atol=1e-6)
    assert not embedder.info.normalised


def test_the_folders_configuration_is_used(exported: Path) -> None:
    (exported / "1_Pooling").mkdir()
    (exported / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (exported / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 12}))
    prompts = {"prompts": {"query": "w1 ", "document": ""}}
    (exported / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = made(exported)
    info = embedder.info
    assert (info.pooling, info.max_tokens, info.query_prompt, info.document_prompt) == ("cls", 12, "w1 ", "")
    mean = made(exported, pooling="mean")
    asked, same = mean.embed(["w2"], Role.QUERY), mean.embed(["w1 w2"], Role.DOCUMENT)
    assert np.array_equal(asked, same)
    assert not np.array_equal(asked, mean.embed(["w2"], Role.DOCUMENT))


def test_another_pooling_than_the_declared_one_is_reported(exported: Path, tmp_path: Path) -> None:
    import bakeoff
    from bakeoff.runs.checks.checking import validate

    (exported / "1_Pooling").mkdir()
    (exported / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    folder = tmp_path / "experiment"
    (folder / "docs").mkdir(parents=True)
    for number in range(4):
        (folder / "docs" / f"{number}.md").write_text(f"w{number} w{number + 10}")
    (folder / "queries.yaml").write_text("queries: [{id: q, text: w3 w9, truth: {documents: [3.md]}}]")
    parts = [{"onnx": {"folder": str(exported), "pooling": pooling}} for pooling in ("last", "cls")]
    experiment = {"corpus": {"folder": "docs"}, "queries": "queries.yaml", "modes": ["dense"]}
    (folder / "bakeoff.yaml").write_text(json.dumps({**experiment, "embedders": parts}))
    found = [one for one in validate(folder, home=tmp_path / "home").findings if one.code == "pooling"]
    assert [(one.level, "last" in one.where) for one in found] == [("warning", True)]
    notes = bakeoff.run(folder / "bakeoff.yaml", out=tmp_path / "run", home=tmp_path / "home").record.notes
    assert [found[0].message in notes, sum("'cls'" in note for note in notes)] == [True, 1]


def test_the_catalogue_declares_the_pooling_of_its_weights_in_any_folder(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.plugins.embedders import onnx_folder
    from bakeoff.storage.catalogue import CatalogueEntry
    from bakeoff.storage.weights import sha256

    assert made(exported, pooling="last").declared_pooling() == ""
    files = {"model.onnx": sha256(exported / "model.onnx")}
    entry = CatalogueEntry(name="known", model="known", plugin="onnx", pooling="mean", files=files)
    monkeypatch.setattr(onnx_folder, "entries", lambda: {"known": entry})
    assert made(exported, pooling="last").declared_pooling() == "mean"


def test_no_pooling_is_guessed(exported: Path) -> None:
    with pytest.raises(EmbedderError):
        _ = made(exported).info


def test_f42_another_graph_pooling_or_prompt_is_another_identity(exported: Path, tmp_path: Path) -> None:
    other = shutil.copytree(exported, tmp_path / "copy" / exported.name)
    model = onnx.load(other / "model.onnx")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(TABLE + 1, "table"))
    onnx.save(model, other / "model.onnx")
    infos = {
        made(exported, pooling="mean").info,
        made(exported, pooling="cls").info,
        made(exported, pooling="mean", query_prompt="w1 ").info,
        made(exported, pooling="mean", max_tokens=16).info,
        made(other, pooling="mean").info,
    }
    assert len(infos) == 5


def test_tensors_beside_the_graph_are_part_of_the_weights(exported: Path) -> None:
    before = made(exported, pooling="mean")._model_folder.weights()
    (exported / "model.onnx_data").write_bytes(b"1")
    assert made(exported, pooling="mean")._model_folder.weights() != before


def test_what_is_missing_is_named(tmp_path: Path, exported: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="is not a folder"):
        made(tmp_path / "nowhere", pooling="mean")._model_folder  # noqa: B018
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelNotFoundError, match=r"model\.onnx.*onnx/model\.onnx"):
        _ = made(tmp_path / "empty").info
    (exported / "tokenizer.json").unlink()
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        _ = made(exported, pooling="mean").info


def test_a_model_that_reads_fewer_tokens_than_declared_is_refused_in_one_sentence(exported: Path) -> None:
    model = onnx.load(exported / "model.onnx")
    (node,) = (one for one in model.graph.node if one.op_type == "Mul")
    node.input[0] = "placed"
    places = numpy_helper.from_array(np.ones((1, 8, 6), np.float32), "places")
    model.graph.initializer.append(places)
    model.graph.node.insert(0, helper.make_node("Add", ["rows", "places"], ["placed"]))
    nodes = sorted(model.graph.node, key=lambda one: one.op_type == "Mul")
    gather = next(one for one in nodes if one.op_type == "Gather")
    ordered = [gather, *(one for one in nodes if one is not gather)]
    del model.graph.node[:]
    model.graph.node.extend(ordered)
    onnx.save(model, exported / "model.onnx")
    embedder = OnnxEmbedder(OnnxEmbedder.Params(folder=exported, pooling="mean"))
    with pytest.raises(EmbedderError, match="max_tokens") as refused:
        embedder.embed(["w1 " * 14], Role.DOCUMENT)
    assert "onnxruntime_src" not in str(refused.value) and "ONNXRuntimeError" not in str(refused.value)


def test_a_graph_with_other_inputs_is_refused(exported: Path) -> None:
    model = onnx.load(exported / "model.onnx")
    model.graph.input.append(helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["n"]))
    onnx.save(model, exported / "model.onnx")
    with pytest.raises(EmbedderError, match="pixel_values"):
        _ = made(exported, pooling="mean").info


@pytest.mark.slow
def test_a_folder_of_safetensors_weights_needs_no_graph(minilm: MiniLMEmbedder, tmp_path: Path) -> None:
    for file in ("model.safetensors", "config.json", "tokenizer.json"):
        (tmp_path / file).symlink_to(find("minilm").folder.resolve() / file)
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in (
        ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))]  # fmt: skip
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    embedder = made(tmp_path, max_tokens=256)
    texts = ["A man is eating food.", "longer words " * 300]
    rows = embedder.embed(texts, Role.DOCUMENT)
    assert np.abs(rows - minilm.embed(texts, Role.DOCUMENT)).max() < 1e-6
    assert embedder.info.pooling == "mean" and embedder.info.revision.startswith("graph ")
    with pytest.raises(EmbedderError, match="512"):
        _ = made(tmp_path, max_tokens=513).info


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "modules.json",
            [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}],
            "the step 'Dense'",
        ),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "the pooling 'max_tokens'"),
    ],
)
def test_a_step_that_is_not_computed_is_refused(
    exported: Path, file: str, content: object, message: str
) -> None:
    (exported / file).parent.mkdir(exist_ok=True)
    (exported / file).write_text(json.dumps(content))
    with pytest.raises(ModelNotFoundError, match=message):
        _ = made(exported).info


def test_weights_that_are_only_a_pickle_are_refused(exported: Path) -> None:
    (exported / "model.onnx").unlink()
    (exported / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelNotFoundError):
        _ = made(exported).info


@pytest.mark.slow
def test_an_int8_graph_takes_one_text_at_a_time(minilm_int8: MiniLMEmbedder, tmp_path: Path) -> None:
    shutil.copy(minilm_int8._graph(), tmp_path / "model.onnx")
    shutil.copy(find("minilm").folder / "tokenizer.json", tmp_path)
    embedder = made(tmp_path, max_tokens=64)
    texts = ["a b c", "d e f", "g h i"]
    together = embedder.embed(texts, Role.DOCUMENT)
    alone = np.concatenate([embedder.embed([text], Role.DOCUMENT) for text in texts])
    assert np.array_equal(together, alone)
    assert embedder._model_folder.quantised
