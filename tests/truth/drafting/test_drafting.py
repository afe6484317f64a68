"""Drafts of real corpora: read back, resolved, marked, repeatable, and free of leaks once masked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.errors import CorpusError, SettingError
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.checks.findings import ValidationReport
from bakeoff.runs.draft_queries import DraftRequest, suggest
from bakeoff.truth.drafting.draft import blank_sentences
from bakeoff.truth.drafting.sections import from_headings, from_title, is_presentation
from bakeoff.truth.queries import read_queries

EXAMPLES = Path(__file__).resolve().parents[3] / "src/bakeoff/examples"
CHEAP = "chunkers: [line]\nembedders: [wordllama]\nmodes: [bm25]\nqueries: suggested.yaml\n"
Corpora = Callable[[str], Path]


@pytest.fixture
def experiment(tmp_path: Path, laid_out: Callable[..., Path]) -> Corpora:
    """Writes an experiment over a corpus by name."""

    def make(name: str) -> Path:
        if name == "markdown":
            laid_out(tmp_path)
            corpus = "{folder: corpus, include: ['*.md']}"
        elif name == "sql":
            pytest.importorskip("sqlglot")
            corpus = f"{{folder: {json.dumps(str(EXAMPLES / 'lineage/warehouse'))}}}"
        else:
            corpus = f"{{folder: {json.dumps(str(Path(json.__file__).parent))}, include: ['*.py']}}"
        path = tmp_path / "bakeoff.yaml"
        path.write_text(f"corpus: {corpus}\n{CHEAP}")
        return path

    return make


def checked(path: Path) -> ValidationReport:
    return validate(path, home=path.parent / "home")


@pytest.mark.parametrize(("corpus", "n", "fewest"), [("python", 12, 8), ("markdown", 12, 2), ("sql", 60, 60)])
def test_what_is_drafted_is_read_and_resolves(experiment: Corpora, corpus: str, n: int, fewest: int) -> None:
    path = experiment(corpus)
    out = path.parent / "suggested.yaml"
    made = suggest(path, DraftRequest(n), out, home=path.parent / "home")
    queries = read_queries(out).queries
    assert fewest <= len(queries) == made.total <= n
    assert all(query.synthetic for query in queries)
    report = checked(path)
    assert report.of("error") == ()
    assert {finding.code for finding in report.of("warning")} <= {"leak-synthetic", "few-queries"}
    assert all(row.documents > 0 for row in report.queries)


def test_docstrings_lead_to_the_functions_they_describe(experiment: Corpora) -> None:
    path = experiment("python")
    out = path.parent / "suggested.yaml"
    suggest(path, DraftRequest(100), out, home=path.parent / "home")
    by_text = {query.text: query for query in read_queries(out).queries}
    # decoder.py: JSONDecoder.decode
    wanted = next(text for text in by_text if text.startswith("Return the Python representation of"))
    assert by_text[wanted].tags["leak"].startswith(wanted.split("``")[0][:30])
    assert "decoder.py::JSONDecoder.decode" in out.read_text()


def test_headings_lead_to_their_lines(experiment: Corpora) -> None:
    path = experiment("markdown")
    text = (
        "# Manual\n\nIntro.\n\n## Replacing the filter\n\n"
        + "Turn the valve. " * 12
        + "\n\n### Cleaning\n\nWipe it.\n"
    )
    (path.parent / "corpus" / "manual.md").write_text(f"{text}\n# Next\n\nOther.\n")
    out = path.parent / "suggested.yaml"
    suggest(path, DraftRequest(20), out, home=path.parent / "home")
    assert 'text: "Manual: Replacing the filter"' in out.read_text()
    assert '{lines: {document: "manual.md", from: 5, to: 11}}' in out.read_text()


def test_sql_is_spread_over_s0_s_categories(experiment: Corpora) -> None:
    path = experiment("sql")
    made = suggest(path, DraftRequest(40), path.parent / "s.yaml", home=path.parent / "home")
    assert made.counts == dict.fromkeys(
        ("data_flow", "join_analysis", "schema_lookup", "transformation_logic"), 10
    )
    assert max(Counter(draft.document for draft in made.drafts).values()) <= 4


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(experiment: Corpora) -> None:
    path = experiment("sql")
    texts = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        suggest(path, DraftRequest(20, seed), path.parent / name, home=path.parent / "home")
        texts.append((path.parent / name).read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("corpus", ["python", "markdown"])
def test_a_masked_corpus_has_no_leak_and_the_truth_still_resolves(experiment: Corpora, corpus: str) -> None:
    path = experiment(corpus)
    out, folder = path.parent / "suggested.yaml", path.parent / "masked"
    made = suggest(path, DraftRequest(12), out, masked=folder, home=path.parent / "home")
    before = checked(path)
    if corpus == "python":
        assert [finding.code for finding in before.of("note")].count("leak-synthetic") == 1
    include = "['*.py']" if corpus == "python" else "['*.md']"
    path.write_text(f"corpus: {{folder: masked, include: {include}}}\n{CHEAP}")
    after = checked(path)
    assert after.of("error") == ()
    assert "leak-synthetic" not in {finding.code for finding in after.findings}
    assert before.corpus is not None and after.corpus is not None
    assert after.corpus.characters == before.corpus.characters
    assert {row.id: row.documents for row in after.queries} == {
        row.id: row.documents for row in before.queries
    }
    assert made.total == len(after.queries)


def test_masking_keeps_lines_and_lengths() -> None:
    text = 'def f():\n    """Say the\n    word aloud.\n\n    More."""\n'
    made = blank_sentences(text, ["Say the word aloud."])
    assert "word" not in made and "More." in made
    assert len(made) == len(text) and made.count("\n") == text.count("\n")
    compile(made, "f.py", "exec")


def test_files_that_are_there_are_kept(experiment: Corpora) -> None:
    path = experiment("python")
    out = path.parent / "mine.yaml"
    out.write_text("mine")
    with pytest.raises(SettingError, match=r"exists\. Use --force"):
        suggest(path, DraftRequest(3), out, home=path.parent / "home")
    assert out.read_text() == "mine"
    with pytest.raises(SettingError):
        suggest(
            path, DraftRequest(3), path.parent / "new.yaml", masked=path.parent, home=path.parent / "home"
        )
    assert not (path.parent / "new.yaml").exists()


def test_a_corpus_without_structure_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("only words")
    path = tmp_path / "bakeoff.yaml"
    path.write_text(f"corpus: {{folder: docs}}\n{CHEAP}")
    with pytest.raises(CorpusError, match="1"):
        suggest(path, DraftRequest(3), tmp_path / "s.yaml", home=tmp_path / "home")


def test_fewer_than_requested_is_said(experiment: Corpora) -> None:
    path = experiment("markdown")
    made = suggest(path, DraftRequest(500), path.parent / "s.yaml", home=path.parent / "home")
    assert any(f"{made.total} of the 500 requested" in note for note in made.notes)


def test_a_title_is_asked_for_where_a_document_has_no_headings() -> None:
    (draft,) = from_title("T-1", "Router loses wifi at night", "text")
    assert draft.truth == {"documents": ["T-1"], "match": "exact"} and draft.category == "title"
    assert not list(from_title("T-2", "Router", "text"))
    assert not list(from_title("a.py", "Router loses wifi at night", "python"))


@pytest.mark.parametrize(
    ("document", "text", "kind", "wanted"),
    [
        ("site/main.css", "a {}", "css", True),
        ("docs/_themes/plain/README.md", "# A theme of ours", "markdown", True),
        ("layout.html", "{% block body %}", "html", True),
        ("guide/themes.md", "# How themes are written", "markdown", False),
        ("page.html", "<h1>x</h1>", "html", False),
    ],
)
def test_what_a_site_looks_like_is_not_asked_for(document: str, text: str, kind: str, wanted: bool) -> None:
    assert is_presentation(document, text, kind) is wanted


@pytest.mark.parametrize(
    ("kind", "heading"),
    [("docx", "# Return a defective camera\n\n"), ("rst", "Return a defective camera\n" + "=" * 25 + "\n\n")],
)
def test_headings_of_office_documents_and_rst_are_asked_for(kind: str, heading: str) -> None:
    (draft,) = from_headings("a", heading + "Send it to the shop within two weeks, with the bill. " * 3, kind)
    assert draft.text == "Return a defective camera"
