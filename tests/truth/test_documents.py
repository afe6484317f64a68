"""Documents by name (C-18, S0-21)."""

from __future__ import annotations

import pytest

from bakeoff.errors import TruthError
from bakeoff.truth.documents import Names
from bakeoff.truth.rules import NameMatch
from bakeoff.types import Skipped

NAMES = Names(
    [
        "/repo/sql/schema/users.sql",
        "sql/other.sql",
        "a/b/c.md",
        "x/b/c.md",
        "a/[1].md",
        "AAR1401.pdf",
        "AAR1410.pdf",
    ]
)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("sql/other.sql", [1]),
        ("sql/schema/users.sql", [0]),
        ("users.sql", [0]),
        ("./a/b/c.md", [2]),
        ("a\\b\\c.md", [2]),
        ("a/[1].md", [4]),
        ("AAR14*", [5, 6]),
        ("**/c.md", [2, 3]),
        ("b/*.md", [2, 3]),
        ("a/**", [2, 4]),
        ("AAR14?0.pdf", [6]),
        ("AAR14[!0]1.pdf", []),
        ("AAR14[0-2]1.pdf", [5]),
    ],
)
def test_names_as_people_write_them(name: str, rows: list[int]) -> None:
    if rows:
        assert NAMES.find(name) == rows
    else:
        with pytest.raises(TruthError):
            NAMES.find(name)


@pytest.mark.parametrize("name", ["sers.sql", "ther.sql", "chema/users.sql", "*.txt", "b", "a/b"])
def test_a_suffix_ends_at_a_component(name: str) -> None:
    with pytest.raises(TruthError, match="no document matches"):
        NAMES.find(name)


def test_substring_only_where_asked() -> None:
    assert NAMES.find("sql/schema", "substring") == [0]
    assert NAMES.find(".sql", "substring") == [0, 1]


def test_exact_only_where_asked() -> None:
    with pytest.raises(TruthError):
        NAMES.find("users.sql", "exact")


def test_two_documents_are_an_error() -> None:
    with pytest.raises(TruthError, match=r'"b/c\.md".*2.*a/b/c\.md.*x/b/c\.md'):
        NAMES.find("b/c.md")


def test_one_refuses_a_glob_of_several() -> None:
    with pytest.raises(TruthError, match="matches 2 documents"):
        NAMES.one("AAR14*")


def test_unknown_names_show_the_nearest() -> None:
    with pytest.raises(TruthError) as caught:
        NAMES.find("AAR140")
    assert '"AAR140"' in str(caught.value) and "AAR1401.pdf" in str(caught.value)
    assert 'documents: ["AAR140*"]' in str(caught.value)


def test_a_name_may_leave_the_extension_out() -> None:
    """S3-2: doc_040 means doc_040.md; with two such files it means neither."""
    names = Names(["docs/doc_040.md", "docs/doc_0401.md", "x/a.md", "x/a.txt", "b/notes.tar.gz"])
    assert names.find("doc_040") == [0] and names.find("docs/doc_040") == [0]
    assert names.find("notes.tar") == [4]
    for unknown in ("doc_04", "notes", "x/doc_040"):
        with pytest.raises(TruthError, match="no document matches"):
            names.find(unknown)
    with pytest.raises(TruthError, match="matches 2 documents"):
        names.find("a")
    with pytest.raises(TruthError):
        names.find("doc_040", "exact")


def test_an_unread_file_of_the_same_stem_is_not_meant_where_another_was_read() -> None:
    names = Names(
        ["doc_040.md"], [Skipped("doc_040.pptx", "PowerPoint", True), Skipped("deck.pptx", "x", True)]
    )
    assert names.left_out("doc_040") == []
    assert [one.id for one in names.left_out("deck")] == ["deck.pptx"]


UNREAD = Names(
    ["reports/a.md", "b.pdf"],
    [
        Skipped("reports/b.pdf", "broken PDF"),
        Skipped("reports/c.png", "image, not a document", has_text=False),
        Skipped("closed/", "unreadable: Permission denied"),
    ],
)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("reports/*", ["reports/b.pdf"]),
        ("reports/b.pdf", ["reports/b.pdf"]),
        ("./reports/c.png", ["reports/c.png"]),
        ("*.png", ["reports/c.png"]),  # nothing else matches, so this file is what is meant
        ("b.pdf", []),  # a document that was read has this very name
        ("closed/x.md", ["closed/"]),
        ("closed/*", ["closed/"]),
        ("a.md", []),
    ],
)
def test_files_that_were_not_read_are_found_by_name(name: str, files: list[str]) -> None:
    assert [one.id for one in UNREAD.left_out(name)] == files


@pytest.mark.parametrize(
    ("name", "match", "advice"),
    [
        ("x-*", "exact", "remove match: exact"),
        ("x-*", "auto", "Fix the pattern"),
        ("x", "auto", 'documents: ["x*"]'),
    ],
)
def test_advice_is_something_new(name: str, match: NameMatch, advice: str) -> None:
    with pytest.raises(TruthError) as caught:
        NAMES.find(name, match)
    assert advice in str(caught.value)
