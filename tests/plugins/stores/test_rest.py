"""What the stores over HTTP share: errors in the engine's words, never a key, bodies of the right size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.plugins.kit.rest import bodies, encode_json, refusal_reason, wait_until
from bakeoff.types import Metric

NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens
SECRETS = {
    "elasticsearch": "BAKEOFF_ELASTICSEARCH_KEY",
    "opensearch": "BAKEOFF_OPENSEARCH_PASSWORD",
    "vespa": "BAKEOFF_VESPA_KEY",
    "weaviate": "BAKEOFF_WEAVIATE_KEY",
}


def made(name: str, url: str | None, home: Path) -> Any:
    plugin = registry.load("stores", name)
    more = {"config_url": url} if name == "vespa" and url else {}
    return plugin(plugin.Params(url=url, **more), home)


@pytest.mark.parametrize("name", SECRETS)
def test_nobody_answers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRETS[name], "a-key-nobody-may-see")
    monkeypatch.setenv("BAKEOFF_OPENSEARCH_USER", "admin")
    store = made(name, NOBODY, tmp_path)
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9") as caught:
        store.create("rows", 4, Metric.COSINE)
    store.close()
    assert "a-key-nobody-may-see" not in str(caught.value)


@pytest.mark.parametrize("name", SECRETS)
def test_no_address(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"BAKEOFF_{name.upper()}_URL", raising=False)
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=f"BAKEOFF_{name.upper()}_URL"):
        made(name, None, tmp_path)


@pytest.mark.parametrize("name", SECRETS)
def test_a_refused_key_is_told_without_it(
    name: str, loopback: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRETS[name], "a-key-nobody-may-see")
    monkeypatch.setenv("BAKEOFF_OPENSEARCH_USER", "admin")
    with loopback(lambda _: (401, {"error": [{"message": "who are you?"}]})) as (url, asked):
        store = made(name, url, tmp_path)
        with pytest.raises(StoreError, match="HTTP 401: who are you") as caught:
            store.create("rows", 4, Metric.COSINE)
        store.close()
    assert asked[0].headers["authorization"].split()[0] in ("Bearer", "ApiKey", "Basic")
    assert "a-key-nobody-may-see" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"error": {"type": "x", "reason": "no such index", "root_cause": [{"reason": "no such index"}]}},
            "no such index",
        ),
        (
            {"error": {"reason": "failed", "caused_by": {"reason": "3 numbers, not 4"}}},
            "failed; 3 numbers, not 4",
        ),
        ({"error": [{"message": "class not found"}]}, "class not found"),
        ({"message": "over the limit", "code": 3}, "over the limit"),
        ({"error": "Incorrect HTTP method", "status": 405}, "Incorrect HTTP method"),
        ({"unheard": "of"}, '{"unheard": "of"}'),
    ],
)
def test_the_engines_words(answer: Any, said: str) -> None:
    assert refusal_reason(json.dumps(answer).encode()) == said


def test_words_that_are_not_json() -> None:
    assert refusal_reason(b"<html>bad gateway</html>") == "<html>bad gateway</html>"
    assert refusal_reason(b"").startswith("no reason")


def test_a_float32_keeps_its_digits_and_no_more() -> None:
    row = np.random.default_rng(1).normal(size=50).astype(np.float32)
    assert len(encode_json(row)) < 50 * 15
    assert np.array_equal(np.array(json.loads(encode_json(row)), np.float32), row)


def test_bulk_bodies_hold_whole_rows() -> None:
    rows = [({"index": {"_id": str(i)}}, {"text": "x" * 40}) for i in range(100)]
    made_of = list(bodies(iter(rows), limit=500))
    assert len(made_of) > 5 and all(len(body) < 700 for body in made_of)
    lines = b"".join(made_of).splitlines()
    assert [json.loads(line) for line in lines] == [part for row in rows for part in row]
    assert all(len(body.splitlines()) % 2 == 0 for body in made_of)
    assert list(bodies(iter(()))) == []


def test_waiting_ends_with_what_is_still_not_so() -> None:
    with pytest.raises(StoreError, match=r"after 0 s.*it is ready"):
        wait_until("Engine", "it is ready", lambda: False, 0.0, pause=0.0)
