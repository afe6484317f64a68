"""Everything that can go wrong between an embedder and its server, over a real socket."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable
from email.utils import formatdate

import numpy as np
import pytest
from loopback import Answer, Loopback, Request, openai, vector
from pydantic import ValidationError

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders.openai import OpenAIEmbedder
from bakeoff.runtime import json_client
from bakeoff.types import Role

SECRET = "sk-do-not-show-0123456789"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_client, "BACKOFF_SECONDS", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def made(server: Loopback, **params: object) -> OpenAIEmbedder:
    given = {"base_url": f"{server.url}/v1", "model": "tiny", **params}
    return OpenAIEmbedder(OpenAIEmbedder.Params.model_validate(given))


def after(good: int, then: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """Answers well `good` times, then otherwise."""
    seen = itertools.count()
    return lambda request: openai(request) if next(seen) < good else then(request)


def first(bad: list[Answer]) -> Callable[[Request], Answer]:
    """Answers badly once for each given answer, then well."""
    left = iter(bad)
    return lambda request: next(left, None) or openai(request)


def changed(change: Callable[[list[dict]], list[dict]]) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        status, body = openai(request)
        return status, {**body, "data": change(body["data"])}

    return answer


def test_texts_go_in_batches_and_come_back_in_order():
    texts = [f"word{i} other{i}" for i in range(23)]
    with Loopback(openai) as server:
        rows = made(server, batch_size=5).embed(texts, Role.DOCUMENT)
        sizes = [len(request.body["input"]) for request in server.posts("/v1/embeddings")]
    assert sizes == [1, 5, 5, 5, 5, 3]
    assert rows.dtype == np.float32
    assert np.allclose(rows, [vector(text) for text in texts], atol=1e-6)


def test_a_refused_key_is_said_once_and_never_shown():
    said = {"error": {"message": f"Incorrect API key provided: {SECRET}.", "code": "invalid_api_key"}}
    with Loopback(lambda _: (401, said)) as server:
        with pytest.raises(EmbedderError, match=r"401.*\$OPENAI_API_KEY") as caught:
            made(server).embed(["a"], Role.QUERY)
        assert len(server.requests) == 1
        assert server.host in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_missing_key_names_the_variable(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.setenv("BAKEOFF_ALLOW_KEYS", "MY_KEY")
    with Loopback(lambda _: (401, {"error": "no key"})) as server:
        with pytest.raises(EmbedderError, match="MY_KEY"):
            made(server, key_env="MY_KEY").embed(["a"], Role.QUERY)
        assert "Authorization" not in server.requests[0].headers


def test_f42_the_key_is_sent_and_is_in_no_identity():
    with Loopback(openai) as server:
        embedder = made(server)
        info = embedder.info
        assert server.requests[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(info) + embedder._params.model_dump_json()
    assert (info.weights, info.dims, info.normalised, info.stand_in) == ("remote:tiny", 16, True, False)
    assert server.host in info.revision


@pytest.mark.parametrize(
    "address", ["http://me:secret@127.0.0.1/v1", "https://host/v1?key=secret", "host/v1", "ftp://host"]
)
def test_an_address_with_a_secret_or_without_a_scheme_is_refused(address):
    with pytest.raises(ValidationError, match="base_url"):
        OpenAIEmbedder.Params.model_validate({"base_url": address})


def test_429_waits_as_long_as_the_server_asks(made_clock):
    clock = made_clock(json_client)
    before = clock.now
    with Loopback(first([(429, {"error": "slow down"}, {"Retry-After": "7"})])) as server:
        assert made(server).info.dims == 16
        assert len(server.requests) == 2
    assert clock.now - before == 7_000_000_000


def test_429_with_a_date_in_the_past_is_retried_at_once():
    with Loopback(first([(429, {}, {"Retry-After": formatdate(time.time() - 60, usegmt=True)})])) as server:
        assert made(server).info.dims == 16


def test_429_that_asks_for_an_hour_ends_the_system():
    with Loopback(lambda _: (429, {}, {"Retry-After": "3600"})) as server:
        with pytest.raises(EmbedderError, match="3600"):
            made(server).embed(["a"], Role.QUERY)
        assert len(server.requests) == 1


def test_5xx_is_repeated_and_then_works():
    with Loopback(first([(503, "busy"), (500, "oops"), (502, "<html>")])) as server:
        assert made(server).embed(["a"], Role.QUERY).shape == (1, 16)


def test_5xx_to_the_end_is_an_error():
    with Loopback(lambda _: (503, {"error": "overloaded"})) as server:
        with pytest.raises(EmbedderError, match=r"503.*4"):
            made(server).embed(["a"], Role.QUERY)
        assert len(server.requests) == 4


def test_400_is_not_repeated_and_shows_what_the_server_says():
    with Loopback(lambda _: (400, {"error": {"message": "maximum context length is 8192 tokens"}})) as server:
        with pytest.raises(EmbedderError, match=r"answered 400: .*maximum context length"):
            made(server).embed(["a"], Role.QUERY)
        assert len(server.requests) == 1


def test_a_server_that_is_down_is_named():
    with socket.socket() as held:  # nobody listens on it, and nobody else can take it
        held.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{held.getsockname()[1]}"
        embedder = OpenAIEmbedder(OpenAIEmbedder.Params(base_url=f"http://{host}/v1"))
        with pytest.raises(EmbedderError, match=f"at {host}"):
            embedder.embed(["a"], Role.QUERY)


def test_a_slow_server_times_out():
    let_go = threading.Event()

    def slow(request: Request) -> Answer:
        let_go.wait(60)
        return openai(request)

    with Loopback(slow) as server:
        with pytest.raises(EmbedderError, match=r"0\.1.*2"):
            made(server, timeout=0.1, retries=1).embed(["a"], Role.QUERY)
        let_go.set()


def test_another_dimension_half_way_is_refused():
    short = changed(lambda rows: [{**row, "embedding": row["embedding"][:8]} for row in rows])
    with (
        Loopback(after(2, short)) as server,
        pytest.raises(EmbedderError, match=r"8.*16"),
    ):
        made(server, batch_size=2).embed(["a", "b", "c"], Role.DOCUMENT)


def test_f43_another_model_half_way_is_refused():
    with (
        Loopback(after(2, lambda request: (200, {**openai(request)[1], "model": "other"}))) as server,
        pytest.raises(EmbedderError, match="'other' after 'tiny'"),
    ):
        made(server, batch_size=2).embed(["a", "b", "c"], Role.DOCUMENT)


def test_nan_is_refused():
    broken = changed(lambda rows: [{**row, "embedding": [float("nan")] * 16} for row in rows])
    with Loopback(after(1, broken)) as server, pytest.raises(EmbedderError):
        made(server).embed(["a"], Role.DOCUMENT)


@pytest.mark.parametrize("numbers", [[0, 0, 0], [1, 2, 3], [0, 2, 2]])
def test_vectors_without_a_number_of_their_own_are_refused(numbers):
    same = changed(lambda rows: [{**row, "index": number} for row, number in zip(rows, numbers, strict=True)])
    with (
        Loopback(after(1, same)) as server,
        pytest.raises(EmbedderError, match=rf"of tiny {numbers[0]}, {numbers[1]}"),
    ):
        made(server).embed(["a", "b", "c"], Role.DOCUMENT)


@pytest.mark.parametrize("vector", ["1" * 16, ["0.5"] * 16, [True] * 16, "AAAAPwAAAD8="])
def test_a_vector_that_is_text_is_refused(vector):
    text = changed(lambda rows: [{**row, "embedding": vector} for row in rows])
    with (
        Loopback(after(1, text)) as server,
        pytest.raises(EmbedderError),
    ):
        made(server).embed(["a"], Role.DOCUMENT)


def test_fewer_vectors_than_texts_are_refused():
    with (
        Loopback(after(1, changed(lambda rows: rows[1:]))) as server,
        pytest.raises(EmbedderError, match=r"2.*3"),
    ):
        made(server).embed(["a", "b", "c"], Role.DOCUMENT)


@pytest.mark.parametrize(
    "body", [{"embeddings": [[1.0]]}, [[1.0]], {"data": [{"index": 0, "embedding": None}]}, {"data": None}]
)
def test_another_protocol_is_said(body):
    with (
        Loopback(lambda _: (200, body)) as server,
        pytest.raises(EmbedderError, match=r"unexpected response|shape \(\)"),
    ):
        made(server).embed(["a"], Role.DOCUMENT)


def test_a_page_instead_of_json_is_said():
    with (
        Loopback(lambda _: (200, "<html>welcome")) as server,
        pytest.raises(EmbedderError, match="JSON"),
    ):
        made(server).embed(["a"], Role.DOCUMENT)


def test_requests_are_spaced_by_the_rate_limit(made_clock):
    """One more than texts: the first asks for the dimension."""
    clock, came = made_clock(json_client), []

    def noted(request: Request) -> Answer:
        came.append(clock.now)
        return openai(request)

    with Loopback(noted) as server:
        made(server, requests_per_minute=600, batch_size=1).embed(["a", "b", "c"], Role.DOCUMENT)
    assert np.diff(came) == pytest.approx([1e8] * 3)


def test_long_texts_are_cut_only_when_asked_and_empty_ones_are_a_space():
    with Loopback(openai) as server:
        made(server).embed(["x" * 9000, ""], Role.DOCUMENT)
        made(server, max_characters=10).embed(["x" * 9000], Role.DOCUMENT)
        sent = [request.body["input"] for request in server.posts("/v1/embeddings")]
    assert sent[1] == ["x" * 9000, " "]
    assert sent[3] == ["x" * 10]


@pytest.mark.parametrize("key", ["sk-ünlaut-0123", "sk-line\nbreak"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with (
        Loopback(openai) as server,
        pytest.raises(EmbedderError) as caught,
    ):
        made(server).embed(["a"], Role.QUERY)
    assert key[:6] not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_key_with_a_line_end_is_used_without_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}\n")
    with Loopback(openai) as server:
        assert made(server).info.dims == 16
        assert server.requests[0].headers["Authorization"] == f"Bearer {SECRET}"


def test_a_text_that_is_no_unicode_is_said():
    with Loopback(openai) as server, pytest.raises(EmbedderError):
        made(server).embed(["\ud800"], Role.DOCUMENT)
