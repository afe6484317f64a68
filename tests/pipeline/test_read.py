from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.corpus.skipped_files import describe_skipped, summarise_skipped
from bakeoff.errors import CorpusError
from bakeoff.pipeline.read import read_documents
from bakeoff.types import Document, Skipped, SourceItem


def test_documents_in_the_order_of_their_ids(bench: Any) -> None:
    corpus = bench.corpus()
    ids = corpus.documents["id"].to_pylist()
    assert ids == sorted(ids) and len(ids) == 7
    assert (corpus.fresh, corpus.reused) == (7, 0)
    assert corpus.documents["text"].to_pylist()[0] == Path("corpus/guide/auth.md").read_text()
    assert json.loads(corpus.documents["fields"].to_pylist()[0]) == {"encoding": "utf-8"}


def test_what_was_read_before_is_not_read_again(bench: Any) -> None:
    first, second = bench.corpus(), bench.corpus()
    assert (second.fresh, second.reused) == (0, 7)
    assert second.fingerprint == first.fingerprint
    assert second.documents.equals(first.documents)


def test_the_name_follows_the_content_not_the_place(bench: Any, tmp_path: Path) -> None:
    before = bench.corpus().fingerprint
    Path("corpus").rename("moved")
    Path("corpus").symlink_to("moved", target_is_directory=True)
    assert bench.corpus().fingerprint == before
    path = Path("corpus/src/slug.py")
    path.write_text(path.read_text() + "# changed\n")
    assert bench.corpus().fingerprint != before


def test_what_is_left_out_has_a_reason(bench: Any) -> None:
    Path("corpus/data.md").write_bytes(b"zero \x00 bytes")
    Path("corpus/blank.md").write_text("\n\n")
    corpus = bench.corpus()
    assert {item.id: item.reason for item in corpus.skipped} == {
        "blank.md": "empty",
        "data.md": "binary: it holds zero bytes",
    }
    assert corpus.documents.num_rows == 7


def test_a_document_that_cannot_be_parsed_is_remembered_as_left_out(bench: Any) -> None:
    Path("corpus/broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    for fresh in (8, 0):
        corpus = bench.corpus()
        assert corpus.fresh == fresh
        assert [item.id for item in corpus.skipped] == ["broken.pdf"]


def test_what_is_left_out_is_counted_by_format_and_said_with_examples(bench: Any) -> None:
    """What leaves text out of the corpus comes first; kinds that are read are not counted where a pattern left them."""
    for name in ("board deck.pptx", "guide/plan.pptx", "old.zip", "a.log", "core.md"):
        Path("corpus", name).write_bytes(b"PK\0\0")
    Path("corpus/blank.md").write_text(" ")
    found = summarise_skipped(bench.corpus().skipped)
    assert [(one.kind, one.files, one.example, one.has_text) for one in found] == [
        ("PowerPoint", 2, "board deck.pptx", True),
        ("markdown", 1, "core.md", True),
        (".log", 1, "a.log", False),
        ("archive", 1, "old.zip", False),
        ("markdown", 1, "blank.md", False),
    ]
    sentence = describe_skipped(found)
    assert sentence.startswith("Skipped 6 files (2 PowerPoint, 2 markdown, 1 .log, 1 archive), e.g. ")
    assert "board deck.pptx (damaged PowerPoint file)" in sentence
    assert describe_skipped(summarise_skipped([])) == ""


def test_a_file_is_not_counted_under_the_reason_of_another() -> None:
    """Three empty files and a binary one were "4 markdown files were not read (binary)"."""
    empty = [Skipped(f"e{i}.md", "empty: no text in it", has_text=False) for i in range(3)]
    broken = [Skipped(f"{i}.pdf", f"broken PDF ({i} of 9 pages)") for i in range(2)]
    found = summarise_skipped([*empty, Skipped("b.md", "binary: it holds zero bytes"), *broken])
    assert [(one.files, one.kind, one.reason) for one in found] == [
        (2, "PDF", "broken PDF (0 of 9 pages)"),
        (1, "markdown", "binary: it holds zero bytes"),
        (3, "markdown", "empty: no text in it"),
    ]
    assert describe_skipped(found).startswith("Skipped 6 files (2 PDF, 4 markdown), e.g. ")


def test_nothing_found_is_an_error(bench: Any) -> None:
    for path in Path("corpus").rglob("*.*"):
        path.unlink()
    with pytest.raises(CorpusError):
        bench.corpus()


def test_nothing_readable_is_an_error_with_reasons(bench: Any) -> None:
    for path in Path("corpus").rglob("*.*"):
        path.write_text(" ")
    with pytest.raises(CorpusError, match=r"7.*guide/auth\.md"):
        bench.corpus()


def test_many_small_files_are_kept_together(bench: Any) -> None:
    """Each segment is forced to disk, which would take minutes for 100,000 files in segments of 64."""
    for number in range(700):
        Path(f"corpus/small{number}.md").write_text(f"# {number}\n")
    assert bench.corpus().fresh == 707
    assert len(list(bench.context.cache.root.glob("read/??/*"))) == 1


def test_another_pattern_reads_only_what_is_new(bench: Any) -> None:
    def corpus(*include: str) -> Any:
        params = bench.plan.source.params.model_copy(update={"include": list(include)})
        return replace(
            bench, plan=replace(bench.plan, source=replace(bench.plan.source, params=params))
        ).corpus()

    assert corpus("*.md").fresh > 0
    more = corpus("*.md", "*.py")
    assert more.fresh == len(list(Path("corpus").rglob("*.py"))) and more.reused == len(
        list(Path("corpus").rglob("*.md"))
    )
    assert corpus("*.py").fresh == 0


@pytest.mark.parametrize(
    ("items", "found", "message"),
    [
        ([SourceItem("a", "1", 1), "b"], Document("a", "x"), "lists a str"),
        ([SourceItem("a", "1", 1)], "text", "returned a str for a"),
    ],
)
def test_a_source_of_other_types_is_refused(
    bench: Any, register: Any, items: list[object], found: object, message: str
) -> None:
    class Untyped:
        version = "1"
        Params = bench.plan.source.params.__class__

        def __init__(self, params: object) -> None: ...

        def items(self) -> list[object]:
            return items

        def read(self, item: object) -> object:
            return found

    register("sources", "untyped", Untyped)
    with pytest.raises(CorpusError, match=message):
        read_documents(replace(bench.plan.source, name="untyped"), Untyped(None), bench.context)
