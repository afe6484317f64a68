from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.config import experiment, scaffold
from bakeoff.errors import CorpusError, SettingError
from bakeoff.truth.queries import read_queries


def written(folder: Path, into: Path) -> tuple[experiment.Plan, Path]:
    made, queries = scaffold.write_experiment(scaffold.inspect_folder(folder), into, force=False)
    return experiment.load(made), queries


def test_what_is_written_is_a_valid_experiment_with_drafts(tiny: Path) -> None:
    plan, queries = written(Path("corpus"), Path("mine"))
    drafts = read_queries(queries)
    assert plan.source.params.folder == Path("corpus").resolve()
    assert len(plan.systems) == 6
    assert len(drafts.queries) == 5 and all(query.synthetic for query in drafts.queries)
    assert [query.text for query in drafts.queries][:2] == ["Authentication", "Billing"]


def test_the_patterns_cover_every_file_that_was_seen(tiny: Path) -> None:
    seen = scaffold.inspect_folder(Path("corpus"))
    assert (seen.files, seen.code) == (7, False)
    plan, _ = written(Path("corpus"), Path("mine"))
    assert set(plan.source.params.include) == {"**/*.md", "**/*.py"}


def test_code_is_told_from_prose(tiny: Path) -> None:
    seen = scaffold.inspect_folder(Path("corpus/src"))
    assert seen.code
    assert "50" in scaffold.experiment_text(seen, Path())


@pytest.mark.parametrize(
    "name", ["with space", "größe", "#hash: colon", "'quote'", '"double"', "- dash", "{brace}"]
)
def test_names_that_yaml_would_misread(home: Path, name: str) -> None:
    folder = Path(name)
    folder.mkdir()
    (folder / f"{name}.md").write_text(f"# A {name}\n\nText of it.\n", encoding="utf-8")
    plan, queries = written(folder, Path("mine"))
    assert plan.source.params.folder == folder.resolve()
    assert read_queries(queries).queries[0].text == f"A {name}"


def test_a_folder_inside_is_written_relative(tiny: Path) -> None:
    scaffold.write_experiment(scaffold.inspect_folder(Path("corpus")), Path(), force=True)
    assert 'folder: "corpus"' in Path("bakeoff.yaml").read_text()


def test_files_that_are_there_are_kept(tiny: Path) -> None:
    before = tiny.read_text()
    with pytest.raises(SettingError, match=r"bakeoff\.yaml.*queries\.yaml.*--force"):
        scaffold.write_experiment(scaffold.inspect_folder(Path("corpus")), Path(), force=False)
    assert tiny.read_text() == before


def test_no_document_says_why(home: Path) -> None:
    Path("empty").mkdir()
    Path("empty/blank.md").write_text("  \n")
    with pytest.raises(CorpusError, match="1"):
        scaffold.inspect_folder(Path("empty"))


def test_no_folder(home: Path) -> None:
    with pytest.raises(CorpusError):
        scaffold.inspect_folder(Path("nowhere"))


def test_a_place_that_cannot_be_written(tiny: Path) -> None:
    with pytest.raises(SettingError, match="--into"):
        scaffold.write_experiment(scaffold.inspect_folder(Path("corpus")), tiny / "below", force=False)


def test_one_file_is_counted_in_the_singular(tmp_path: Path) -> None:
    (tmp_path / "only.md").write_text("# One\n")
    assert scaffold.inspect_folder(tmp_path).size.startswith("1 file, ")
