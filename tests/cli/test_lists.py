from __future__ import annotations

import sys
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.cli.lists import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_is_a_table_and_json(cli: Any, home: Any, kind: str) -> None:
    shown, data = cli("list", kind), cli("list", kind, "--json")
    assert shown.code == data.code == 0
    assert isinstance(data.json, list)
    for row in data.json:
        assert row["name"] in shown.out
    if kind not in ("models", "modes", "measures", "examples"):
        assert {row["name"] for row in data.json} == set(registry.names(kind))


def test_plugins_have_a_sentence_and_their_parameters(cli: Any) -> None:
    rows = {row["name"]: row for row in cli("list", "stores", "--json").json}
    assert set(rows) == set(registry.names("stores"))
    assert rows["exact"]["what"] and "ef" in rows["faiss"]["parameters"].split(", ")


def test_a_plugin_whose_package_is_missing_says_how_to_get_it(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "bakeoff.plugins.stores.faiss", raising=False)
    rows = {row["name"]: row for row in cli("list", "stores", "--json").json}
    assert "pip install 'bakeoff[faiss]'" in rows["faiss"]["what"]


def test_an_unknown_list_is_refused(cli: Any) -> None:
    done = cli("list", "databases")
    assert done.code == 2 and "'databases'" in done.err and "models, encoders, chunkers, stores" in done.err


def test_the_list_of_stores_shows_gaps(cli: Any) -> None:
    rows = {row["name"]: row for row in cli("list", "stores", "--json").json}
    assert "delete" in rows["faiss"]["gaps"] and "payload" not in rows["faiss"]["gaps"]
    reasons = cli("list", "stores", "--gaps", "--json").json
    assert ("exact", "reopen") in {(row["name"], row["gap"]) for row in reasons if row["because"]}
    assert cli("list", "chunkers", "--gaps").code == 2
