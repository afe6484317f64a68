from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.config import experiment
from bakeoff.errors import ExperimentError, MeasureError, MissingExtraError, UnknownPluginError, UserError

HEAD = "corpus: {folder: corpus}\nqueries: queries.yaml\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "bakeoff.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def plan(folder: Path, text: str = "") -> experiment.Plan:
    return experiment.load(write(folder, HEAD + text))


def refused(folder: Path, text: str, error: type[UserError] = ExperimentError) -> str:
    with pytest.raises(error) as caught:
        experiment.load(write(folder, text))
    assert type(caught.value) is error
    return str(caught.value)


# --- what is right ----------------------------------------------------------------------------------


def test_two_lines_are_enough(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert made.name == tmp_path.name
    assert made.measures == ("nDCG@10(document)", "RR@10(document)", "R@20(document)")
    assert made.primary == "nDCG@10(document)"
    labels = [system.label for system in made.systems]
    assert labels == ["semantic · wordllama · dense", "semantic · bm25", "semantic · wordllama · hybrid"]


def test_a_folder_means_the_file_in_it(tmp_path: Path) -> None:
    write(tmp_path, HEAD)
    assert experiment.load(tmp_path).fingerprint() == experiment.load(tmp_path / "bakeoff.yaml").fingerprint()


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    made = plan(tmp_path)
    assert made.queries == tmp_path.resolve() / "queries.yaml"
    assert made.source.params.folder == tmp_path.resolve() / "corpus"


def test_stdlib_is_a_place(tmp_path: Path) -> None:
    made = experiment.load(write(tmp_path, 'corpus: {folder: "${stdlib}/json"}\nqueries: q.yaml\n'))
    assert (made.source.params.folder / "decoder.py").is_file()


def test_every_combination_is_a_system_and_bm25_needs_no_model(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        "chunkers: [line, whole]\nembedders: [wordllama, {wordllama: {dims: 64}}]\nstores: [exact, faiss]\n",
    )
    assert len(made.systems) == 2 * (4 + 1 + 4)
    labels = [system.label for system in made.systems]
    assert len(set(labels)) == len(labels)
    assert labels.count("line · bm25") == 1
    assert "whole · wordllama(dims=64) · faiss · hybrid" in labels
    bm25 = next(system for system in made.systems if system.mode.name == "bm25")
    assert bm25.embedder is None and bm25.store is None and bm25.keyword is not None


def test_the_store_is_named_only_where_there_is_a_choice(tmp_path: Path) -> None:
    assert (
        plan(tmp_path, "stores: [faiss]\nmodes: [dense]\n").systems[0].label == "semantic · wordllama · dense"
    )


def test_lists_of_query_arguments_expand_to_systems_over_one_index(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        "modes: [dense]\nstores:\n  - faiss: {build: {index: hnsw, m: 8}, query: {ef: [16, 64, 128]}}\n",
    )
    assert [system.label for system in made.systems] == [
        "semantic · wordllama · faiss(index=hnsw m=8)[ef=16] · dense",
        "semantic · wordllama · faiss(index=hnsw m=8) · dense",
        "semantic · wordllama · faiss(index=hnsw m=8)[ef=128] · dense",
    ]
    assert len({str(system.store.identity()) for system in made.systems if system.store}) == 1
    assert len({str(system.identity()) for system in made.systems}) == 3


def test_two_lists_of_query_arguments_multiply(tmp_path: Path) -> None:
    made = plan(tmp_path, "modes: [dense]\nstores: [{faiss: {query: {ef: [16, 32], probes: [1, 2, 4]}}}]\n")
    assert len({system.label for system in made.systems}) == 6


def test_parameters_stand_in_the_label(tmp_path: Path) -> None:
    made = plan(tmp_path, "chunkers: [{line: {doc_lines: 4}}]\nmodes: [{hybrid: {rrf_k: 10}}]\n")
    assert made.systems[0].label == "line(doc_lines=4) · wordllama · hybrid(rrf_k=10)"


def test_an_address_is_not_a_part_of_the_label(tmp_path: Path) -> None:
    model = '{openai: {model: m, base_url: "http://127.0.0.1:9/v1"}}'
    made = plan(tmp_path, f"embedders: [{model}]\nmodes: [dense]\n")
    assert made.systems[0].label.endswith(" · openai(model=m) · dense")


def test_measures_get_the_unit_they_lack_and_stand_once(tmp_path: Path) -> None:
    made = plan(tmp_path, "measures: {primary: nDCG@10, also: [nDCG@10(document), R@5]}\n")
    assert made.measures == ("nDCG@10(document)", "R@5(document)")


# --- the fingerprint --------------------------------------------------------------------------------

SCRIPT = "import sys; from pathlib import Path; from bakeoff.config import experiment; print(experiment.load(Path(sys.argv[1])).fingerprint())"


def test_the_fingerprint_is_the_same_in_another_process(tmp_path: Path) -> None:
    made = plan(tmp_path, "chunkers: [line, semantic]\n")
    path = str(tmp_path / "bakeoff.yaml")
    other = subprocess.run([sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == made.fingerprint()


def test_comments_order_and_place_do_not_change_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    text = "stores: [exact]\nchunkers: [line]\n"
    one = plan(tmp_path, text)
    other = experiment.load(
        write(tmp_path / "elsewhere", "# a comment\nchunkers:\n  - line\n" + HEAD + "stores: [exact]\n")
    )
    assert one.fingerprint() == other.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        "depth: 50\n",
        "seed: 8\n",
        "runs: 2\n",
        "metric: dot\n",
        "stores: [faiss]\n",
        "measures: {primary: R@5}\n",
        "limits: {p95_ms: 10}\n",
        "modes: [{hybrid: {rrf_k: 10}}]\n",
    ],
)
def test_what_changes_the_measurement_changes_the_fingerprint(tmp_path: Path, change: str) -> None:
    assert plan(tmp_path).fingerprint() != plan(tmp_path, change).fingerprint()


# --- what is wrong ----------------------------------------------------------------------------------


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"none\.yaml.*bakeoff init.*FOLDER"):
        experiment.load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (HEAD + "chunker: [line]\n", 3, 'unknown key "chunker". Did you mean "chunkers"?'),
        (HEAD + "measures:\n  primry: R@5\n", 4, 'unknown key "primry" in measures. Did you mean "primary"?'),
        (HEAD + "limits: {p95: 3}\n", 3, 'unknown key "p95" in limits. Did you mean "p95_ms"?'),
        (HEAD + "depth: 0\n", 3, '"depth": it must be 1 or more (it is 0)'),
        (HEAD + "depth: many\n", 3, "(it is 'many')"),
        (HEAD + "runs: 0\n", 3, '"runs"'),
        (HEAD + "metric: manhattan\n", 3, '"metric"'),
        (HEAD + "chunkers: []\n", 3, '"chunkers"'),
        (HEAD + "embedders: []\n", 3, '"embedders"'),
        (HEAD + "stores: []\n", 3, '"stores"'),
        (HEAD + "modes: []\n", 3, '"modes"'),
        (HEAD + "chunkers: line\n", 3, '"chunkers"'),
        (HEAD + "chunkers: [line, line]\n", 3, "line is listed twice in chunkers"),
        (
            HEAD + "stores: [{qdrant: {url: http://a}}, {qdrant: {url: http://b}}]\n",
            3,
            "qdrant is listed twice in stores. Remove one, or name one with as: NAME.",
        ),
        (HEAD + "stores:\n  - exact\n  - faiss\n  - exact\n", 6, "exact is listed twice in stores"),
        (HEAD + "modes:\n  - dense\n  - dense\n", 5, "dense is listed twice in modes"),
        (HEAD + "chunkers: [{line: {}, whole: {}}]\n", 3, "should be one name with its parameters"),
        (HEAD + "chunkers: [{line: {query: {ef: 3}}}]\n", 3, 'unknown key "query"'),
        (HEAD + "chunkers: [{line: {as: x}}, {whole: {as: x}}]\n", 3, "x is listed twice in chunkers"),
        (HEAD + "chunkers: [{line: 5}]\n", 3, "line: 5 should be a mapping of parameters"),
        (
            HEAD + "chunkers:\n  - line:\n      doc_lins: 4\n",
            5,
            'unknown key "doc_lins". Did you mean "doc_lines"?',
        ),
        (HEAD + "chunkers:\n  - whole\n  - line:\n      doc_lines: no\n", 6, '"doc_lines"'),
        (HEAD + "embedders: [{wordllama: {dims: 65}}]\n", 3, '"dims"'),
        (HEAD + "stores:\n  - faiss:\n      query: {eff: 3}\n", 5, 'unknown key "eff". Did you mean "ef"?'),
        (HEAD + "stores:\n  - faiss:\n      query: {ef: [16, 0]}\n", 5, '"ef"'),
        (HEAD + "stores:\n  - faiss:\n      query: {ef: []}\n", 5, "ef has no value. Give at least one."),
        (HEAD + "stores:\n  - faiss:\n      query: 5\n", 5, "query: 5 should be a mapping"),
        (HEAD + "stores: [tantivy]\n", 3, "tantivy searches by words only"),
        (HEAD + "modes: [{bm25: {engine: exact}}]\n", 3, "exact does not search by words"),
        (HEAD + "modes: [dens]\n", 3, "no mode is called 'dens'. Did you mean 'dense'?"),
        (HEAD + "modes: [{hybrid: {rrf: 3}}]\n", 3, 'unknown key "rrf". Did you mean "rrf_k"?'),
        (
            "corpus: {folder: a, inclued: [b]}\nqueries: q\n",
            1,
            'unknown key "inclued". Did you mean "include"?',
        ),
        ("corpus: {}\nqueries: q\n", 1, '"folder" is missing'),
        ("corpus: {folder: a}\n", 1, '"queries" is missing'),
        ("corpus: [a]\nqueries: q\n", 1, '"corpus"'),
        ("queries: q\ncorpus: my-docs\n", 2, "corpus: {folder: my-docs}"),
        ("corpus: {folder: a}\nqueries: q\nlimits: 3\n", 3, '"limits"'),
    ],
)
def test_every_mistake_names_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    message = refused(tmp_path, text)
    assert message.startswith(f"bakeoff.yaml, line {line}")
    assert said in message


@pytest.mark.parametrize("text", ["", "just words\n", "- a\n- b\n"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    assert "bakeoff.yaml" in refused(tmp_path, text)


def test_a_file_that_is_no_yaml(tmp_path: Path) -> None:
    assert refused(tmp_path, "corpus: {folder: a\nqueries: q\n").startswith("bakeoff.yaml, line ")


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    assert "line 3" in refused(tmp_path, HEAD + "queries: other.yaml\n")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("chunkers: [lines]\n", 3, "no chunker is called 'lines'. Did you mean 'line'?"),
        ("embedders:\n  - wordlama\n", 4, "no embedder is called 'wordlama'. Did you mean \"wordllama\""),
        ("stores: [exact, faisss]\n", 3, "no store is called 'faisss'. Did you mean 'faiss'?"),
        ("rerankers: [nobody]\n", 3, "no reranker is called 'nobody'"),
        ("modes: [{bm25: {engine: lucene}}]\n", 3, "no store is called 'lucene'"),
    ],
)
def test_an_unknown_plugin_names_the_nearest(tmp_path: Path, text: str, line: int, said: str) -> None:
    message = refused(tmp_path, HEAD + text, UnknownPluginError)
    assert message.startswith(f"bakeoff.yaml, line {line}: ") and said in message


def test_an_unknown_source(tmp_path: Path) -> None:
    message = refused(tmp_path, "queries: q\ncorpus:\n  source: foldr\n", UnknownPluginError)
    assert "'foldr'" in message and "'folder'" in message


def test_a_missing_extra_names_the_line_and_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "bakeoff.plugins.stores.faiss", raising=False)
    message = refused(tmp_path, HEAD + "stores:\n  - exact\n  - faiss\n", MissingExtraError)
    assert message == "bakeoff.yaml, line 5: faiss needs faiss: pip install 'bakeoff[faiss]'"


@pytest.mark.parametrize(
    ("text", "line"),
    [("measures: {primary: nDGC@10}\n", 3), ("measures:\n  also:\n    - R@5\n    - R@five\n", 6)],
)
def test_a_bad_measure_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    assert refused(tmp_path, HEAD + text, MeasureError).startswith(f"bakeoff.yaml, line {line}: ")


def test_all_findings_are_said_at_once(tmp_path: Path) -> None:
    lines = refused(tmp_path, HEAD + "depht: 3\nruns: 0\nmetric: far\n").splitlines()
    assert sorted(line.split(":")[0] for line in lines) == [f"bakeoff.yaml, line {n}" for n in (3, 4, 5)]


def test_a_part_is_shown_by_the_name_its_author_gives(tmp_path: Path) -> None:
    made = plan(tmp_path, "modes: [dense]\nstores: [exact, {faiss: {as: small, build: {m: 4}}}]\n")
    assert [system.label for system in made.systems] == [
        "semantic · wordllama · exact · dense",
        "semantic · wordllama · small · dense",
    ]


def test_two_systems_never_share_a_name(tmp_path: Path) -> None:
    text = "chunkers: [{line: {as: a}}, {whole: {as: a · b}}]\nembedders: [{wordllama: {as: b · c}}, {wordllama: {as: c, dims: 64}}]\n"
    assert "'a · b · c · dense'" in refused(tmp_path, HEAD + text)


def test_a_path_among_parameters_is_below_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    text = "corpus: {folder: docs}\nqueries: queries.yaml\nembedders: [{minilm: {weights: models/mine}}]\nmodes: [dense]\n"
    (tmp_path / "bakeoff.yaml").write_text(text)
    (system,) = experiment.load(tmp_path / "bakeoff.yaml").systems
    assert system.embedder is not None
    assert system.embedder.params.weights == (tmp_path / "models/mine").resolve()


def test_a_preset_brings_its_measures_unless_the_file_names_some(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    text = "corpus: {folder: docs}\nqueries: queries.yaml\npreset: lineage\n"
    (tmp_path / "bakeoff.yaml").write_text(text)
    assert experiment.load(tmp_path).measures == (
        "P@5(document)",
        "R@10(document)",
        "RR(document)",
        "nDCG@5(document)",
    )
    (tmp_path / "bakeoff.yaml").write_text(text + "measures: {primary: nDCG@10}\n")
    assert experiment.load(tmp_path).primary == "nDCG@10(document)"
    (tmp_path / "bakeoff.yaml").write_text(text.replace("lineage", "linage"))
    with pytest.raises(ExperimentError, match="line 3"):
        experiment.load(tmp_path)


def test_a_key_that_ends_a_known_one_gets_a_hint() -> None:
    from bakeoff.config.pydantic_messages import did_you_mean

    assert "base_url" in did_you_mean("url", ["base_url", "dims", "timeout"])
    assert did_you_mean("url", ["base_url", "other_url"]) == ""


def test_a_margin_is_points_of_the_primary_measure(tmp_path: Path) -> None:
    assert plan(tmp_path, "decide: {margin: .05}\n").settings.decide.margin == 0.05
    assert "the margin is 2" in refused(tmp_path, f"{HEAD}decide: {{margin: 2}}\n")
    counted = "decide: {margin: 200}\nmeasures: {primary: tokens@10}\n"
    assert plan(tmp_path, counted).settings.decide.margin == 200
