"""Every embedder whose weights are at hand under the contract."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import ModelNotFoundError
from bakeoff.storage.weights import find
from bakeoff.testing import EmbedderContract


def weights_at_hand(name: str) -> bool:
    try:
        find(name)
    except ModelNotFoundError:
        return False
    return True


class TestWordLlama(EmbedderContract):
    name = "wordllama"


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
class TestMiniLM(EmbedderContract):
    name = "minilm"


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
class TestMiniLMInt8(EmbedderContract):
    name = "minilm"
    params = {"precision": "int8"}


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
class TestOnnx(EmbedderContract):
    name = "onnx"

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
        plugin = registry.load("embedders", "onnx")
        folder = minilm_folder(tmp_path_factory.mktemp("all-MiniLM-L6-v2"))
        made = plugin(plugin.Params(folder=folder, max_tokens=256))
        yield made
        made.close()


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
@pytest.mark.skipif(
    find_spec("xllamacpp") is None, reason="llama.cpp is not installed: pip install 'bakeoff[llamacpp]'"
)
class TestLlamaCpp(EmbedderContract):
    name = "llamacpp"
    params = {"quantization": "q8", "threads": 1}


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
@pytest.mark.skipif(
    find_spec("sentence_transformers") is None,
    reason="not installed: pip install 'bakeoff[sentence_transformers]'",
)
class TestSentenceTransformers(EmbedderContract):
    name = "sentence_transformers"

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Any]:
        plugin = registry.load("embedders", "sentence_transformers")
        made = plugin(plugin.Params(folder=find("minilm").folder, max_tokens=256))
        yield made
        made.close()


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
@pytest.mark.skipif(find_spec("fastembed") is None, reason="not installed: pip install 'bakeoff[fastembed]'")
class TestFastembed(EmbedderContract):
    name = "fastembed"

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
        import onnx

        plugin = registry.load("embedders", "fastembed")
        folder = minilm_folder(tmp_path_factory.mktemp("all-MiniLM-L6-v2"))
        model = onnx.load(folder / "model.onnx")
        for node in model.graph.node:
            node.input[:] = ["input_ids" if name == "ids" else name for name in node.input]
        model.graph.input[0].name = "input_ids"
        onnx.save(model, folder / "model.onnx")
        (folder / "tokenizer_config.json").write_text('{"model_max_length": 256, "pad_token": "[PAD]"}')
        made = plugin(plugin.Params(folder=folder, pooling="graph", batch_size=1))
        yield made
        made.close()


@pytest.mark.skipif(find_spec("model2vec") is None, reason="not installed: pip install 'bakeoff[model2vec]'")
class TestModel2Vec(EmbedderContract):
    name = "model2vec"

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
        plugin = registry.load("embedders", "model2vec")
        made = plugin(plugin.Params(folder=static_folder(tmp_path_factory.mktemp("static"))))
        yield made
        made.close()


def minilm_folder(folder: Path) -> Path:
    """The graph that minilm makes, laid out as an exported model."""
    minilm = registry.load("embedders", "minilm")
    embedder = minilm(minilm.Params())
    shutil.copy(embedder._graph(), folder / "model.onnx")
    shutil.copy(embedder._weights.folder / "tokenizer.json", folder)
    return folder


def static_folder(folder: Path) -> Path:
    """WordLlama's token vectors, laid out as a model of Model2Vec."""
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    package = Path(str(find_spec("wordllama").origin)).parent
    table = load_file(package / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    StaticModel(table.astype(np.float32), tokenizer, normalize=True).save_pretrained(folder)
    return folder
