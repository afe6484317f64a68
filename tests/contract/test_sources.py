"""The built-in sources under the contract, and sources that break it."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ConfigDict

from bakeoff.testing import RowSourceContract, SourceContract
from bakeoff.types import Document, Skipped, SourceItem


class TestFolder(SourceContract):
    name = "folder"

    def corpus(self, folder: Path) -> dict[str, Any]:
        for name in ("b.md", "a.txt"):
            (folder / name).write_text(f"# About {name}\n")
        return {"folder": folder}


class TestBeir(SourceContract):
    name = "beir"

    def corpus(self, folder: Path) -> dict[str, Any]:
        rows = [{"_id": name, "title": "", "text": f"text of {name}"} for name in "ba"]
        (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return {"folder": folder}


class TestGenerated(SourceContract):
    name = "generated"
    params: ClassVar[dict[str, Any]] = {"example": "incidents"}


class TestRemote(SourceContract):
    name = "remote"

    def corpus(self, folder: Path) -> dict[str, Any]:
        for name in ("b.md", "a.txt"):
            (folder / name).write_text(f"# About {name}\n")
        return {"remote": folder.as_uri()}


class TestTable(RowSourceContract):
    name = "table"

    def corpus(self, folder: Path) -> dict[str, Any]:
        (folder / "t.csv").write_text("id,title,body,day\n7,One,first,2026-01-02\n8,,second,\n")
        return {"table": folder / "t.csv", "id": "id", "text": ["title", "body"], "fields": ["day"]}


class TestSql(RowSourceContract):
    name = "sql"

    def corpus(self, folder: Path) -> dict[str, Any]:
        with sqlite3.connect(folder / "t.db") as database:
            database.execute("CREATE TABLE t (id INTEGER, body TEXT)")
            database.executemany("INSERT INTO t VALUES (?, ?)", [(1, "first"), (2, "second")])
        query = "SELECT id, body FROM t ORDER BY id"
        return {"url": f"sqlite:///{folder}/t.db", "query": query, "id": "id", "text": "body"}


class TestSquad(RowSourceContract):
    name = "squad"

    def corpus(self, folder: Path) -> dict[str, Any]:
        paragraphs = [{"context": "Oxygen is a gas.", "qas": []}, {"context": "It burns.", "qas": []}]
        found = {"data": [{"title": "Oxygen", "paragraphs": paragraphs}]}
        (folder / "dev.json").write_text(json.dumps(found))
        return {"squad": folder / "dev.json"}


class TestTrec(RowSourceContract):
    name = "trec"

    def corpus(self, folder: Path) -> dict[str, Any]:
        (folder / "a.trec").write_text(
            "".join(f"<DOC>\n<DOCNO> D{n} </DOCNO>\nText {n}\n</DOC>\n" for n in "12")
        )
        return {"trec": folder / "a.trec"}


class _NoParams(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Forgetful:
    """Reads only what the same instance has listed."""

    version = "1"
    Params = _NoParams
    ids = ("a", "b")

    def __init__(self, params: _NoParams) -> None:
        self._listed: dict[str, str] = {}

    def items(self) -> Iterator[SourceItem | Skipped]:
        for name in self.ids:
            self._listed[name] = f"text of {name}"
            yield SourceItem(name, "1", 9)

    def read(self, item: SourceItem) -> Document:
        return Document(item.id, self._listed[item.id])


class _Repeating(_Forgetful):
    """Lists an id twice."""

    ids = ("a", "a")


def contract(register: Callable[..., None], plugin: type) -> SourceContract:
    register("sources", "broken", plugin)
    return type("Broken", (SourceContract,), {"name": "broken"})()


def test_a_source_that_reads_only_what_it_listed_is_found(register: Callable[..., None]) -> None:
    with pytest.raises(KeyError):
        contract(register, _Forgetful).test_a_new_instance_reads_any_item({})


def test_an_id_that_occurs_twice_is_found(register: Callable[..., None]) -> None:
    with pytest.raises(AssertionError, match="twice"):
        contract(register, _Repeating).test_items_have_unique_ids_in_a_stable_order({})


def test_an_item_that_is_a_name_is_found(register: Callable[..., None]) -> None:
    class Names(_Forgetful):
        def items(self) -> Iterator[str]:
            return iter(self.ids)

    with pytest.raises(AssertionError, match="neither a SourceItem nor a Skipped"):
        contract(register, Names).test_items_have_unique_ids_in_a_stable_order({})
