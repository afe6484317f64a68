"""The choice among drafts."""

from __future__ import annotations

from bakeoff.truth.drafting.draft import QueryDraft, choose


def draft(text: str, category: str = "c", document: str = "d") -> QueryDraft:
    return QueryDraft(text, category, "easy", {"documents": [document]}, document)


def test_categories_get_equal_shares_while_they_last() -> None:
    pool = [draft(f"alpha {i} beta{i}", "many", f"d{i}") for i in range(50)]
    pool += [draft(f"gamma {i} delta{i}", "few", f"d{i}") for i in range(2)]
    chosen = choose(pool, 10, 7)
    assert [each.category for each in chosen].count("few") == 2 and len(chosen) == 10


def test_every_document_comes_before_a_second_time() -> None:
    pool = [draft(f"{word} {i}", document=f"d{i}") for i in range(5) for word in ("one", "two", "three")]
    assert {each.document for each in choose(pool, 5, 7)} == {f"d{i}" for i in range(5)}


def test_equal_texts_have_two_answers_and_are_not_asked() -> None:
    pool = [
        draft("close the file", document="a"),
        draft("Close the file.", document="b"),
        draft("open a door"),
    ]
    assert [each.text for each in choose(pool, 9, 7)] == ["open a door"]


def test_of_nearly_equal_texts_one_stays() -> None:
    pool = [draft("read one line of the file"), draft("read one line of the file now")]
    assert len(choose(pool, 9, 7)) == 1


def test_the_order_of_the_pool_does_not_matter() -> None:
    pool = [draft(f"w{i} v{i}", f"c{i % 3}", f"d{i % 7}") for i in range(60)]
    assert choose(pool, 20, 7) == choose(reversed(pool), 20, 7)
