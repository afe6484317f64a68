from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.types import Role

FOOD = "A man is eating food."
BREAD = "A man is eating a piece of bread."
BABY = "The girl is carrying a baby."


def made(**params: object) -> MiniLMEmbedder:
    return MiniLMEmbedder(MiniLMEmbedder.Params.model_validate(params))


# --- with the real weights ----------------------------------------------------------------------------


def test_canonical_vectors(minilm: MiniLMEmbedder) -> None:
    vectors = minilm.embed([FOOD, BABY], Role.DOCUMENT)
    assert vectors[0, :4] == pytest.approx([0.033242, 0.004406, -0.006277, 0.048379], abs=2e-6)
    assert vectors[1, :4] == pytest.approx([-0.036309, -0.035653, -0.027223, 0.038320], abs=2e-6)
    assert vectors.dtype == np.float32


def test_paraphrases_are_near_and_other_sentences_are_not(minilm: MiniLMEmbedder) -> None:
    vectors = minilm.embed([FOOD, BREAD, BABY], Role.DOCUMENT)
    assert vectors[0] @ vectors[1] == pytest.approx(0.7553, abs=5e-5)
    assert vectors[0] @ vectors[2] < 0


def test_info_identifies_the_vectors(minilm: MiniLMEmbedder, minilm_int8: MiniLMEmbedder) -> None:
    info = minilm.info
    assert (info.name, info.dims, info.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)
    assert info.weights == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert info.normalised
    assert not info.stand_in
    assert minilm_int8.info.name != info.name


def test_roles_are_alike(minilm: MiniLMEmbedder) -> None:
    assert np.array_equal(minilm.embed([FOOD], Role.QUERY), minilm.embed([FOOD], Role.DOCUMENT))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\x00",
        "a\x00b",
        "日本語のテキスト",
        "😀" * 50,
        "e\u0301" * 400,
        "\u202e\ufeff",
        "x" * 100_000,
        "[SEP] [CLS] [MASK]",
    ],
)
def test_any_text_has_a_unit_vector(minilm: MiniLMEmbedder, text: str) -> None:
    vector = minilm.embed([text], Role.DOCUMENT)[0]
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_a_megabyte_is_read_to_the_limit(minilm: MiniLMEmbedder) -> None:
    start = "the quick brown fox jumps over the lazy dog. " * 40
    vectors = minilm.embed([start + "other words " * 90_000, start], Role.DOCUMENT)
    assert np.array_equal(vectors[0], vectors[1])


def test_tokens_are_counted_before_the_cut(minilm: MiniLMEmbedder) -> None:
    assert minilm.count_tokens([FOOD, "", "word " * 1000]) == [8, 2, 1002]


@pytest.mark.slow
def test_int8_stays_near_fp32(minilm: MiniLMEmbedder, minilm_int8: MiniLMEmbedder) -> None:
    texts = [FOOD, BREAD, BABY, *Path(__file__).read_text(encoding="utf-8").split("\n\n")]
    exact, quick = minilm.embed(texts, Role.DOCUMENT), minilm_int8.embed(texts, Role.DOCUMENT)
    cosines = np.sum(exact * quick, axis=1)
    assert cosines.min() > 0.98
    assert cosines.mean() > 0.985
    assert not np.array_equal(exact, quick)


def test_vectors_do_not_depend_on_the_batch(minilm: MiniLMEmbedder, minilm_int8: MiniLMEmbedder) -> None:
    texts = [
        "short one",
        "other two",
        "words " * 30,
        "a",
        "longer words " * 200,
        "tokens " * 30,
        "longer words " * 180,
    ]
    for model in (minilm, minilm_int8):
        together = model.embed(texts, Role.DOCUMENT)
        alone = np.concatenate([model.embed([text], Role.DOCUMENT) for text in texts])
        assert np.array_equal(together, alone)


# --- with a small encoder -----------------------------------------------------------------------------


def test_without_weights_the_command_is_named(home: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="bakeoff models pull minilm"):
        _ = made().info
    with pytest.raises(ModelNotFoundError, match="bakeoff models pull minilm"):
        made().embed(["text"], Role.QUERY)


def test_a_given_folder_must_have_every_file(home: Path, tiny: Path, tmp_path: Path) -> None:
    shutil.copy(tiny / "config.json", tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"model\.safetensors.*tokenizer\.json"):
        _ = made(weights=tmp_path).info


def test_f43_other_weights_do_not_take_the_models_name(home: Path, tiny: Path) -> None:
    info = made(weights=tiny, max_tokens=64).info
    assert info.name == tiny.name
    assert info.licence == ""


def test_f42_weights_tokenizer_and_precision_change_the_identity(
    home: Path, tiny: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(tiny, tmp_path / "x" / tiny.name)
    with (other / "tokenizer.json").open("a") as file:
        file.write("\n")
    infos = [
        made(weights=tiny, max_tokens=64).info,
        made(weights=tiny, max_tokens=32).info,
        made(weights=tiny, max_tokens=64, precision="int8").info,
        made(weights=other, max_tokens=64).info,
    ]
    assert len(set(infos)) == 4


def test_more_tokens_than_the_model_has_positions_is_refused(home: Path, tiny: Path) -> None:
    with pytest.raises(EmbedderError, match=r"max_tokens.*65.*64"):
        made(weights=tiny, max_tokens=65).embed(["text"], Role.QUERY)


def test_the_graph_is_made_once_and_a_damaged_one_again(home: Path, tiny: Path) -> None:
    expected = made(weights=tiny, max_tokens=64).embed(["w1 w2"], Role.QUERY)
    (graph,) = (home / "models" / "minilm" / "graphs").iterdir()
    made_at = graph.stat().st_mtime_ns
    made(weights=tiny, max_tokens=64).embed(["w1 w2"], Role.QUERY)
    assert graph.stat().st_mtime_ns == made_at
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 0x41
    graph.write_bytes(content)
    assert np.array_equal(made(weights=tiny, max_tokens=64).embed(["w1 w2"], Role.QUERY), expected)


def test_weights_that_change_behind_a_kept_graph_are_used(home: Path, tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "other")
    before = made(weights=other, max_tokens=64).embed(["w1 w2"], Role.QUERY)
    content = bytearray((other / "model.safetensors").read_bytes())
    content[-3] ^= 0x40
    (other / "model.safetensors").write_bytes(content)
    assert not np.array_equal(made(weights=other, max_tokens=64).embed(["w1 w2"], Role.QUERY), before)


@pytest.mark.parametrize(
    "params", [{"precison": "int8"}, {"precision": "int4"}, {"max_tokens": 0}, {"threads": 0}]
)
def test_wrong_parameters_are_refused(params: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        made(**params)


def test_every_parameter_is_described() -> None:
    assert all(field.description for field in MiniLMEmbedder.Params.model_fields.values())
