"""A planted key is in no output, log, result, cache name, report or export, whatever the servers answer."""

from __future__ import annotations

import logging
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback, Request, openai

from bakeoff.config import experiment
from bakeoff.errors import EmbedderError, ExperimentError, StoreError
from bakeoff.runs.run import run
from bakeoff.runtime.progress_file import ProgressFile, tee

VARIABLES = (
    "OPENAI_API_KEY", "CO_API_KEY", "VOYAGE_API_KEY", "JINA_API_KEY", "QDRANT_API_KEY", "HF_TOKEN",
    "BAKEOFF_PINECONE_KEY", "BAKEOFF_WEAVIATE_KEY", "BAKEOFF_ELASTICSEARCH_KEY", "BAKEOFF_VESPA_KEY",
    "BAKEOFF_OPENSEARCH_PASSWORD", "BAKEOFF_PGVECTOR_PASSWORD", "BAKEOFF_REDIS_PASSWORD",
)  # fmt: skip
PLANTED = "planted-sk-0123456789abcdef"
IN_FILE = "planted-env-file-0123456789"
IN_DSN = "planted-dsn-0123456789"
CLOSED = 9  # the discard port: nobody listens

EXPERIMENT = """\
name: keys
corpus: {{folder: corpus}}
queries: queries.yaml
chunkers: [line]
embedders:
  - {{openai: {{base_url: "{good}/v1", model: tiny}}}}
  - {{cohere: {{base_url: "{bad}", model: tiny, retries: 0}}}}
stores: [exact, pgvector, redis, weaviate, elasticsearch, {{pinecone: {{url: "{bad}"}}}}, {{qdrant: {{url: "{bad}"}}}}]
modes: [dense, bm25, [bm25, rerank@5]]
rerankers: [{{rerank_api: {{api: jina, base_url: "{bad}", model: tiny, retries: 0}}}}]
depth: 10
"""


def parrot(request: Request) -> Answer:
    """401, with everything that was sent repeated: the worst a server or a proxy can say."""
    return 401, {"error": f"not allowed: {request.headers}"}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, home: Path) -> list[str]:
    """Keys in the environment, in .env and in addresses; what must not be found anywhere."""
    for place, name in enumerate(VARIABLES):
        monkeypatch.setenv(name, f"{PLANTED}-{place}")
    monkeypatch.setenv("BAKEOFF_PGVECTOR_DSN", f"postgresql://someone:{IN_DSN}@127.0.0.1:{CLOSED}/db")
    monkeypatch.setenv("BAKEOFF_REDIS_URL", f"redis://:{IN_DSN}@127.0.0.1:{CLOSED}/0")
    monkeypatch.delenv("BAKEOFF_ELASTICSEARCH_KEY")
    Path(".env").write_text(f"BAKEOFF_ELASTICSEARCH_KEY={IN_FILE}\n")
    return [PLANTED, IN_FILE, IN_DSN, b64encode(f"someone:{IN_DSN}".encode()).decode()]


def clean(text: str, secrets: list[str], where: object) -> None:
    found = [secret for secret in secrets if secret in text]
    assert not found, f"{found} in {where}"


@pytest.mark.slow
def test_no_key_in_output_results_cache_report_or_export(
    planted: list[str],
    typed: Any,
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
    texts_below: Callable[[Path], Any],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
) -> None:
    with Loopback(openai) as good, Loopback(parrot) as bad:
        monkeypatch.setenv("BAKEOFF_WEAVIATE_URL", f"http://someone:{IN_DSN}@{bad.host}")
        monkeypatch.setenv("BAKEOFF_ELASTICSEARCH_URL", bad.url)
        laid_out(Path.cwd(), EXPERIMENT.format(good=good.url, bad=bad.url))
        typed.said += cli("validate", code=None)
        typed("run", "--out", "run", code=1, debug=True)
        sent = {value for request in good.requests for value in request.headers.values()}
        refused = str([request.headers for request in bad.requests])
    assert f"Bearer {PLANTED}-0" in sent, "the key was used"
    assert PLANTED in refused and IN_FILE in refused, "the refusing servers were asked with their keys"
    typed.said += cli("status", "run", "--json")
    typed.said += cli("report", "run", "--format", "html,md,latex")
    for preset in ("goldsql", "lineage", "code", "vectordb", "ann"):
        typed.said += cli("export", "run", "--preset", preset, "--out", f"export/{preset}", code=None)
    typed.said += cli("export", "run", "--format", "trec", "--out", "export/trec")
    typed.said += cli("review", "export", "run", code=None)
    assert "401" in typed.said and "openai" in typed.said
    clean(typed.said, planted, "the output")
    Path(".env").unlink()
    for path, text in (*texts_below(Path.cwd()), *texts_below(home)):
        clean(text, planted, path)


def test_no_key_in_the_journal_or_the_log_of_a_run_from_python(
    planted: list[str], laid_out: Callable[..., Path], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """As a program runs it, with logging at its loudest and a journal beside."""
    caplog.set_level(logging.DEBUG)
    journal = ProgressFile(tmp_path, clock=iter(range(10**9)).__next__)
    events: list[object] = []
    with Loopback(openai) as good, Loopback(parrot) as bad:
        text = EXPERIMENT.format(good=good.url, bad=bad.url).replace("weaviate, elasticsearch, ", "")
        result = run(laid_out(Path.cwd(), text), out="run", emit=tee(events.append, journal))
    journal.close()
    assert result.failed
    clean(caplog.text, planted, "the log")
    clean(str(events), planted, "the events")
    clean((tmp_path / "progress.json").read_text(), planted, "progress.json")
    clean(str(result.failed), planted, "the reasons")


@pytest.mark.parametrize("before", range(280, 301, 5))
def test_no_half_of_a_key_where_an_answer_is_cut(before: int, planted: list[str]) -> None:
    from bakeoff.plugins.embedders.openai import OpenAIEmbedder
    from bakeoff.types import Role

    def answer(request: Request) -> Answer:
        return 401, "x" * before + request.headers["Authorization"].removeprefix("Bearer ")

    with Loopback(answer) as server:
        params = OpenAIEmbedder.Params(base_url=f"{server.url}/v1", model="tiny", retries=0)
        with pytest.raises(EmbedderError) as caught:
            OpenAIEmbedder(params).embed(["a"], Role.QUERY)
    clean(str(caught.value), ["planted"], "the error")


def test_no_key_where_a_success_is_no_json(planted: list[str]) -> None:
    from bakeoff.plugins.embedders.openai import OpenAIEmbedder
    from bakeoff.types import Role

    with Loopback(lambda request: (200, f"<{request.headers['Authorization']}>")) as server:
        params = OpenAIEmbedder.Params(base_url=f"{server.url}/v1", model="tiny", retries=0)
        with pytest.raises(EmbedderError, match="JSON") as caught:
            OpenAIEmbedder(params).embed(["a"], Role.QUERY)
    clean(str(caught.value), planted, "the error")


def test_a_store_s_refusal_that_repeats_the_key(planted: list[str], tmp_path: Path) -> None:
    from bakeoff.plugins.stores.vespa import VespaParams, VespaStore
    from bakeoff.types import Metric

    with Loopback(parrot) as server, pytest.raises(StoreError, match="not allowed") as caught:
        VespaStore(VespaParams(url=server.url), tmp_path).open("rows", 0, Metric.COSINE)
    assert any(key in str(one.headers) for one in server.requests for key in planted)
    clean(str(caught.value), planted, "the error")


@pytest.mark.parametrize(
    "store",
    [
        "{qdrant: {url: 'http://a:hunter2secret@h'}}",
        "{chroma: {url: 'http://a:hunter2secret@h'}}",
        "{milvus: {uri: 'http://a:hunter2secret@h'}}",
        "{pinecone: {url: 'http://a:hunter2secret@h'}}",
        "{vespa: {config_url: 'http://a:hunter2secret@h'}}",
        "{pgvector: {dsn: 'postgresql://a:hunter2secret@h/db'}}",
        "{redis: {url: 'redis://:hunter2secret@h'}}",
    ],
)
def test_a_password_in_an_address_of_the_experiment_is_refused_and_not_shown(
    store: str, home: Path, laid_out: Callable[..., Path]
) -> None:
    text = "corpus: {folder: corpus}\nqueries: queries.yaml\nembedders: [wordllama]\nmodes: [dense]\n"
    with pytest.raises(ExperimentError, match="password") as caught:
        experiment.load(laid_out(Path.cwd(), f"{text}stores: [{store}]\n"))
    assert "hunter2secret" not in str(caught.value)


def test_a_server_s_own_files_are_its_owner_s_only(home: Path) -> None:
    """Passwords of servers started here: no other user may read them."""
    from bakeoff.runtime.servers.records import ServerState, write_state

    (home / "servers" / "redis").mkdir(parents=True)
    write_state(
        "redis", ServerState("redis", "8", "a", "l", 0.0, (), {"BAKEOFF_REDIS_URL": "redis://:secret@h"})
    )
    kept = [path for path in home.rglob("*") if path.is_file() and "secret" in path.read_text()]
    assert len(kept) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


def test_help_and_lists_read_no_key(planted: list[str], typed: Any) -> None:
    for words in (("--help",), ("servers", "status")):
        typed(*words, code=None, debug=True)
    clean(typed.said, planted, "the output")


def test_the_shown_values_of_parameters_hide_addresses() -> None:
    """A traceback of somebody else's tool may show a repr."""
    code = (
        "from bakeoff import registry; P = registry.load('stores', 'pgvector').Params;"
        "print(repr(P(dsn='postgresql://host-of-somebody/db')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "host-of-somebody" not in done.stdout
