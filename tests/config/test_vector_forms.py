from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.config import experiment
from bakeoff.config.plan import Plan
from bakeoff.errors import ExperimentError
from bakeoff.types import FULL_FORM, VectorForm

HEAD = "corpus: {folder: corpus}\nqueries: queries.yaml\nmodes: [dense]\n"


def plan(folder: Path, text: str) -> Plan:
    path = folder / "bakeoff.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return experiment.load(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ExperimentError) as caught:
        plan(folder, text)
    return str(caught.value)


def test_each_value_is_another_system(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        "embedders: [{wordllama: {dims: [256, 64]}}]\nstores: [{exact: {storage: [float32, binary], rescore: [0, 3]}}]\n",
    )
    forms = [system.form for system in made.systems]
    assert forms == [
        VectorForm(256),
        VectorForm(256, "binary"),
        VectorForm(256, "binary", 3),
        VectorForm(64),
        VectorForm(64, rescore=3),
        VectorForm(64, "binary"),
        VectorForm(64, "binary", 3),
    ]  # the model's own 256 dimensions in float32 have nothing to rescore
    assert (
        len({system.label for system in made.systems}) == len({str(s.identity()) for s in made.systems}) == 7
    )
    assert made.systems[2].label == "semantic · wordllama(dims=256) · exact(storage=binary rescore=3) · dense"
    assert {system.family for system in made.systems} == {"semantic · wordllama · exact · dense"}


def test_full_vectors_are_as_they_were(tmp_path: Path) -> None:
    written = plan(tmp_path, "stores: [{exact: {storage: float32}}]\n")
    plain = plan(tmp_path, "stores: [exact]\n")
    assert [one.identity() for one in written.systems] == [one.identity() for one in plain.systems]
    assert written.systems[0].label == "semantic · wordllama · dense"
    assert written.systems[0].form == FULL_FORM


def test_a_plugins_own_dims_stay_its_own(tmp_path: Path) -> None:
    (system,) = plan(tmp_path, "embedders: [{wordllama: {dims: 64}}]\n").systems
    assert system.embedder is not None
    assert system.embedder.params.dims == 64  # type: ignore[attr-defined]
    assert system.form == FULL_FORM


def test_a_named_part_is_told_from_its_forms(tmp_path: Path) -> None:
    made = plan(tmp_path, "stores: [{faiss: {as: graph, build: {m: 8}, storage: [float32, int8]}}]\n")
    assert [system.store.label for system in made.systems if system.store] == ["graph", "graph(storage=int8)"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("embedders: [{minilm: {dims: 512}}]", "dims: 512 is more than the 384 of minilm"),
        ("embedders: [{minilm: {dims: 0}}]", "dims: 0 must be a whole number"),
        ("embedders: [{minilm: {dims: [true]}}]", "dims: True must be a whole number"),
        ("embedders: [{minilm: {dims: [64, 64]}}]", "has a value twice"),
        ("embedders: [{minilm: {dims: []}}]", "dims has no value"),
        ("stores: [{faiss: {storage: int4}}]", "faiss keeps vectors as float32, float16, int8, binary"),
        ("stores: [{chroma: {storage: int8}}]", "chroma keeps vectors as float32"),
        (
            "stores: [{exact: {storage: int8, rescore: 1000}}]",
            "rescore: 1000 must be a whole number up to 100",
        ),
        ("stores: [{exact: {rescore: 3}}]", "rescore: 3 has no small form"),
        (
            "embedders: [{minilm: {dims: 384}}]\nstores: [{exact: {rescore: 3}}]",
            "rescore: 3 has no small form",
        ),
        ("metric: l2\nstores: [{exact: {storage: binary}}]", "metric l2"),
        ("stores: [{exact: {storage: int8}}]\ntop_k: [5]", "top_k ingests full vectors only"),
    ],
)
def test_mistakes_name_their_place(tmp_path: Path, text: str, told: str) -> None:
    message = refused(tmp_path, text + "\n")
    assert told in message
    assert message.startswith("bakeoff.yaml, line ")


def test_a_store_that_fuses_cannot_be_rescored(tmp_path: Path) -> None:
    text = "modes: [native_hybrid]\nstores: [{pgvector: {storage: binary, rescore: 3}}]\n"
    path = tmp_path / "bakeoff.yaml"
    path.write_text(HEAD.replace("modes: [dense]\n", "") + text, encoding="utf-8")
    with pytest.raises(ExperimentError, match="cannot be rescored"):
        experiment.load(path)
