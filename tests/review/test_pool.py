"""What is pooled: each passage once, overlapping ones as one span, in a seeded order that hides the systems."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.errors import DataError, SettingError
from bakeoff.examples import examples
from bakeoff.review.pool import (
    PooledPassage,
    ReviewPool,
    group_passages,
    item_id,
    read_pool,
    text_hash,
    write_pool,
)
from bakeoff.review.pooling import PoolChoice, find_queries, make_pool

TEXT = "abcdefghijklmnopqrstuvwxyz" * 8


def passage(start: int, end: int, chunker: str, document: str = "d") -> PooledPassage:
    return PooledPassage(f"{chunker}{start}", document, start, end, "", TEXT[start:end], chunker)


def spans(*passages: PooledPassage) -> list[tuple[int, int]]:
    return sorted((group.start, group.end) for group in group_passages(passages))


def test_passages_of_two_chunkers_that_share_half_of_the_shorter_are_one_span() -> None:
    assert spans(passage(0, 100, "x"), passage(60, 120, "y")) == [(0, 120)]
    assert spans(passage(0, 100, "x"), passage(71, 130, "y")) == [(0, 100), (71, 130)]


def test_passages_of_one_chunker_stay_apart() -> None:
    assert spans(passage(0, 100, "x"), passage(40, 140, "x")) == [(0, 100), (40, 140)]


def test_the_same_span_of_two_systems_is_one_item() -> None:
    assert spans(passage(0, 100, "x"), passage(0, 100, "x")) == [(0, 100)]


def test_there_is_no_chain_from_neighbour_to_neighbour() -> None:
    found = spans(passage(0, 100, "x"), passage(55, 145, "y"), passage(110, 190, "z"))
    assert (110, 190) in found


def test_other_documents_are_other_items() -> None:
    assert len(spans(passage(0, 100, "x"), passage(0, 100, "y", "e"))) == 2


def test_the_text_runs_from_the_first_to_the_last_character() -> None:
    (group,) = group_passages([passage(20, 120, "x"), passage(0, 60, "y"), passage(80, 150, "z")])
    assert (group.start, group.end) == (0, 150)
    assert group.text() == TEXT[0:150]


def test_a_run_is_pooled_once_for_all_systems(ran: Any) -> None:
    result = ran.result
    made = make_pool(result, PoolChoice(k=5), find_queries(result, result.path.parent / "queries.yaml"))
    assert len({item.id for item in made.items}) == len(made.items)
    rows = [row for row in result.rankings.to_pylist() if row["rank"] <= 5]
    assert sum(len(item.returned) for item in made.items) == len(rows)
    assert len(made.items) < len(rows)
    both = [item for item in made.items if len({(r.start, r.end) for r in item.returned}) > 1]
    assert both, "two chunkers, so some items are of several passages"
    corpus = result.path.parent / "corpus"
    for item in made.items:
        assert item.text == (corpus / item.document_id).read_text(encoding="utf-8")[item.start : item.end]


def test_the_order_hangs_on_the_seed_only(ran: Any) -> None:
    one, same, other = (make_pool(ran.result, PoolChoice(k=3, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert [item.id for item in one.items] != [item.id for item in other.items]
    assert one.fingerprint() == other.fingerprint()


def test_without_the_query_file_nothing_is_filled_in_and_it_is_said(ran: Any) -> None:
    made = make_pool(ran.result, PoolChoice(k=3))
    assert not any(item.rules for item in made.items)
    assert "--queries" in made.notes[0]


@pytest.mark.parametrize("k", [0, 11])
def test_a_depth_the_run_keeps_no_text_of_is_refused(ran: Any, k: int) -> None:
    with pytest.raises(SettingError, match="1 to 10"):
        make_pool(ran.result, PoolChoice(k=k))


def test_an_unknown_category_is_refused(ran: Any) -> None:
    with pytest.raises(SettingError, match="Categories: code, guide"):
        make_pool(ran.result, PoolChoice(categories=("codes",)))


def test_a_pool_is_read_back_as_it_was_written(pool: ReviewPool, tmp_path: Path) -> None:
    write_pool(pool, tmp_path / "pool.json")
    assert read_pool(tmp_path / "pool.json") == pool


def _text(data: dict[str, Any]) -> None:
    data["items"][0]["text"] = "another"


def _version(data: dict[str, Any]) -> None:
    data["version"] = 9


def _missing(data: dict[str, Any]) -> None:
    del data["items"][0]["query_id"]


@pytest.mark.parametrize("change", [_text, _version, _missing])
def test_a_changed_pool_is_refused(
    pool: ReviewPool, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    path = tmp_path / "pool.json"
    write_pool(pool, path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match="bakeoff review"):
        read_pool(path)


def test_showings_are_blind_open_and_in_the_reviewers_own_order(pool: ReviewPool) -> None:
    ann, again, bob = pool.showings("ann"), pool.showings("ann"), pool.showings("bob")
    assert ann == again
    assert {one.item.id for one in ann} == {item.id for item in pool.open}
    assert [one.item.id for one in ann] != [one.item.id for one in bob]
    assert not any(one.item.returned for one in ann)
    queries = [one.item.query_id for one in ann]
    assert sum(a != b for a, b in pairwise(queries)) == len(set(queries)) - 1


def test_hidden_repeats_come_after_the_first_showings(pool: ReviewPool) -> None:
    shown = pool.showings("ann", repeats=0.25)
    assert [one.repeat for one in shown] == [0] * 8 + [1] * 2
    first = {one.item.id for one in shown if not one.repeat}
    assert all(one.item.id in first for one in shown)


def test_ids_are_stable() -> None:
    assert item_id("q", "d", 0, 5) == item_id("q", "d", 0, 5) != item_id("q", "d", 0, 6)
    assert text_hash("a") != text_hash("b")


def test_the_questions_of_a_bundled_example_are_found(ran: Any) -> None:
    example = next(one for one in examples() if one.name == "lineage").experiment
    record = ran.result.record.model_copy(update={"experiment": example.read_text(encoding="utf-8")})
    found = find_queries(SimpleNamespace(path=ran.result.path, record=record))  # type: ignore[arg-type]
    assert found is not None and found.queries[0].id == "join_001"


def test_an_experiment_of_chunks_alone_names_its_query_file(ran: Any, tmp_path: Path) -> None:
    queries = ran.result.path.parent / "queries.yaml"
    experiment = tmp_path / "bakeoff.yaml"
    experiment.write_text(f"chunks: {{table: chunks.parquet, id: id, text: text}}\nqueries: {queries}\n")
    found = find_queries(ran.result, experiment)
    assert found is not None
    assert [query.id for query in found.queries] == ran.result.queries["query_id"].to_pylist()
