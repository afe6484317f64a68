"""A key or password goes where an experiment wants it only with consent from outside; `validate` sends nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, openai

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.errors import ConsentError, ExperimentError, SettingError, StoreError
from bakeoff.runs.checks.checking import no_network, validate
from bakeoff.storage import consent
from bakeoff.storage.consent import Destination, key_for, secret_for
from bakeoff.storage.environment import SettingSource

KEY = "planted-sk-0123456789abcdef"
ELSEWHERE = "https://collector.example"
TEXT = "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [line]\n"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in (consent.HOSTS, consent.KEYS, "QDRANT_URL"):
        monkeypatch.setenv(name, "")  # what a command allows ends with the test
    for name in ("OPENAI_API_KEY", "CO_API_KEY", "AWS_SECRET_ACCESS_KEY", "QDRANT_API_KEY", "CHROMA_TOKEN",
                 "MILVUS_TOKEN", "BAKEOFF_WEAVIATE_KEY", "BAKEOFF_ELASTICSEARCH_KEY", "BAKEOFF_VESPA_KEY",
                 "BAKEOFF_PINECONE_KEY", "BAKEOFF_OPENSEARCH_USER", "BAKEOFF_OPENSEARCH_PASSWORD"):  # fmt: skip
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Where this process connects to; nothing beyond this machine is really reached."""
    seen: list[object] = []
    original = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family == socket.AF_UNIX:
            original(self, address)
            return
        seen.append(address)
        if address[0] not in ("127.0.0.1", "::1"):
            raise OSError("no network in a test")
        original(self, address)

    def look_up(host: Any, *_: Any, **__: Any) -> Any:
        if host in ("127.0.0.1", "localhost"):
            return real(host, *_, **__)
        seen.append(host)
        raise socket.gaierror("no network in a test")

    real = socket.getaddrinfo
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield seen


EMBEDDERS = [
    f"{{openai: {{base_url: {ELSEWHERE}}}}}",
    "{openai: {base_url: http://api.openai.com/v1}}",
    "{openai: {base_url: https://api.openai.com.collector.example/v1}}",
    f"{{openai: {{base_url: {ELSEWHERE}, key_env: AWS_SECRET_ACCESS_KEY}}}}",
    "{openai: {key_env: AWS_SECRET_ACCESS_KEY}}",
    "{openai: {base_url: http://127.0.0.1:9, key_env: AWS_SECRET_ACCESS_KEY}}",
    f"{{cohere: {{base_url: {ELSEWHERE}, model: m}}}}",
    "{cohere: {base_url: https://api.openai.com/v1, model: m}}",
    f"{{tei: {{url: {ELSEWHERE}, key_env: OPENAI_API_KEY}}}}",
    f"{{ollama: {{url: {ELSEWHERE}, key_env: OPENAI_API_KEY}}}}",
]


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_a_foreign_experiment_cannot_choose_where_a_model_s_key_goes(
    embedder: str,
    keys: None,
    connections: list[object],
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
) -> None:
    laid_out(Path.cwd(), f"{TEXT}embedders: [{embedder}]\nstores: [exact]\nmodes: [dense]\n")
    said = cli("validate", code=2) + cli("run", "--out", "run", code=2)
    assert KEY not in said
    assert connections == []


STORES = [
    f"{{qdrant: {{url: {ELSEWHERE}}}}}",
    f"{{chroma: {{url: {ELSEWHERE}}}}}",
    f"{{milvus: {{uri: {ELSEWHERE}}}}}",
    f"{{weaviate: {{url: {ELSEWHERE}}}}}",
    f"{{elasticsearch: {{url: {ELSEWHERE}}}}}",
    f"{{opensearch: {{url: {ELSEWHERE}}}}}",
    f"{{pinecone: {{url: {ELSEWHERE}}}}}",
    f"{{vespa: {{url: {ELSEWHERE}}}}}",
    f"{{vespa: {{url: 'http://127.0.0.1:9', config_url: {ELSEWHERE}}}}}",
    "{pgvector: {dsn: 'postgresql://me@collector.example/db'}}",
    "{pgvector: {dsn: 'host=127.0.0.1,collector.example dbname=db'}}",
    "{redis: {url: 'redis://collector.example'}}",
]


@pytest.mark.parametrize("store", STORES)
def test_a_foreign_experiment_cannot_choose_where_a_store_s_password_goes(
    store: str,
    keys: None,
    connections: list[object],
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
) -> None:
    Path(".env").write_text(f"BAKEOFF_PGVECTOR_PASSWORD={KEY}\nBAKEOFF_REDIS_PASSWORD={KEY}\n")
    laid_out(Path.cwd(), f"{TEXT}embedders: [wordllama]\nstores: [{store}]\nmodes: [dense]\n")
    said = cli("run", "--out", "run", code=2)
    assert "collector.example" in said and "--allow-host" in said and KEY not in said
    assert connections == []


def test_consent_on_the_command_line_and_in_the_environment(
    keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Destination(ELSEWHERE, SettingSource.EXPERIMENT)
    with pytest.raises(ConsentError):
        key_for("OPENAI_API_KEY", there)
    consent.allow(["collector.example:443"], [])
    assert key_for("OPENAI_API_KEY", there) == KEY
    with pytest.raises(ConsentError):
        key_for("OPENAI_API_KEY", Destination(f"{ELSEWHERE}:8443", SettingSource.EXPERIMENT))
    with pytest.raises(ConsentError):
        key_for("AWS_SECRET_ACCESS_KEY", there)
    monkeypatch.setenv(consent.KEYS, "AWS_SECRET_ACCESS_KEY")
    assert key_for("AWS_SECRET_ACCESS_KEY", there) == KEY
    monkeypatch.setenv(consent.HOSTS, "")
    with pytest.raises(ConsentError):
        key_for("AWS_SECRET_ACCESS_KEY", there)


def test_the_option_reaches_the_run(
    keys: None, connections: list[object], cli: Callable[..., str], laid_out: Callable[..., Path]
) -> None:
    embedder = f"{{openai: {{base_url: {ELSEWHERE}, retries: 0}}}}"
    laid_out(Path.cwd(), f"{TEXT}embedders: [{embedder}]\nstores: [exact]\nmodes: [dense]\n")
    said = cli("run", "--out", "run", "--allow-host", "collector.example", code=1)
    assert "collector.example" in said
    assert {*connections} == {"collector.example"}, "it was asked after consent"


def test_a_file_next_to_the_experiment_gives_no_consent(keys: None, home: Path) -> None:
    """`.env` may have come with the experiment: neither its allow-list nor its address opens the way for other keys."""
    Path(".env").write_text(
        f"{consent.HOSTS}=collector.example\n{consent.KEYS}=AWS_SECRET_ACCESS_KEY\nQDRANT_URL={ELSEWHERE}\n"
    )
    with pytest.raises(ConsentError):
        key_for("OPENAI_API_KEY", Destination(ELSEWHERE, SettingSource.EXPERIMENT))
    plugin = registry.load("stores", "qdrant")
    with pytest.raises(ConsentError, match="collector"):
        plugin(plugin.Params(), home)


def test_keys_go_to_their_owner_to_this_machine_and_to_the_user_s_own_addresses(keys: None) -> None:
    for url in (
        "https://api.openai.com/v1",
        "http://127.0.0.1:8080/v1",
        "http://localhost:1/v1",
        "http://[::1]:1",
    ):
        assert key_for("OPENAI_API_KEY", Destination(url, SettingSource.EXPERIMENT)) == KEY
    assert secret_for("QDRANT_API_KEY", Destination(ELSEWHERE, SettingSource.USER)) == KEY
    assert key_for("UNSET_BUT_TYPED", Destination(ELSEWHERE, SettingSource.USER)) == ""


def test_a_server_without_a_key_needs_no_consent(
    monkeypatch: pytest.MonkeyPatch, home: Path, cli: Callable[..., str], laid_out: Callable[..., Path]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert key_for("OPENAI_API_KEY", Destination(ELSEWHERE, SettingSource.EXPERIMENT)) == ""
    with Loopback(openai) as server:
        laid_out(Path.cwd(), f"{TEXT}embedders: [{{openai: {{base_url: '{server.url}/v1', model: m}}}}]\n"
                             "stores: [exact]\nmodes: [dense]\n")  # fmt: skip
        cli("run", "--out", "run")
        assert "Authorization" not in server.requests[0].headers


SERVERS = """\
embedders: [{{openai: {{base_url: "{url}/v1"}}}}, {{cohere: {{base_url: "{url}", model: m}}}},
            {{tei: {{url: "{url}"}}}}, {{ollama: {{url: "{url}"}}}}]
stores: [exact, {{qdrant: {{url: "{url}"}}}}, {{chroma: {{url: "{url}"}}}}, {{weaviate: {{url: "{url}"}}}}, pgvector, redis]
modes: [dense, [dense, rerank@5]]
rerankers: [{{rerank_api: {{api: jina, base_url: "{url}", model: m}}}}]
"""


def test_validate_sends_nothing_anywhere(
    keys: None,
    connections: list[object],
    monkeypatch: pytest.MonkeyPatch,
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
) -> None:
    """Models, rerankers and stores on a listener that notes everything, and a shared cache far away."""
    with Loopback(openai) as server:
        monkeypatch.setenv("BAKEOFF_PGVECTOR_DSN", f"postgresql://a:{KEY}@{server.host}/db")
        monkeypatch.setenv("BAKEOFF_REDIS_URL", f"redis://:{KEY}@{server.host}")
        monkeypatch.setenv("BAKEOFF_CACHE", "s3://bucket/of-somebody")
        laid_out(Path.cwd(), TEXT + SERVERS.format(url=server.url))
        for words in (("validate",), ("validate", "--json"), ("validate", "--strict")):
            cli(*words, code=None)
        assert server.requests == []
    assert connections == []


def test_validate_stops_a_plugin_that_connects(home: Path, laid_out: Callable[..., Path]) -> None:
    class Eager:
        version = "1"
        Params = registry.load("embedders", "openai").Params

        def __init__(self, params: object) -> None:
            self.info = socket.create_connection((host, int(port)))

        def embed(self, texts: object, role: object) -> None: ...
        def close(self) -> None: ...

    registry.add("embedders", "eager", Eager)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            host, port = listener.getsockname()
            listener.settimeout(0.2)
            report = validate(
                laid_out(Path.cwd(), f"{TEXT}embedders: [eager]\nstores: [exact]\nmodes: [dense]\n")
            )
            with pytest.raises(TimeoutError):
                listener.accept()
    finally:
        registry.remove("embedders", "eager")
    assert [finding.level for finding in report.findings if finding.where == "eager"] == ["error"]


def test_the_network_is_back_after_validation() -> None:
    before = socket.getaddrinfo
    with no_network(), pytest.raises(SettingError):
        socket.create_connection(("127.0.0.1", 9))
    assert socket.getaddrinfo is before and "connect" not in vars(socket.socket)


@pytest.mark.parametrize(
    "address",
    ["http://h?api_key=hunter2secret", "http://h/?token=hunter2secret", "https://h/x?grpc=1&key=hunter2secret",
     "http://a:hunter2secret@h", "http://hunter2secret@h", "http://h#hunter2secret", "http://h?hunter2secret"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("store", "parameter"),
    [("qdrant", "url"), ("chroma", "url"), ("milvus", "uri"), ("weaviate", "url"), ("elasticsearch", "url"),
     ("opensearch", "url"), ("pinecone", "url"), ("vespa", "url"), ("vespa", "config_url")],
)  # fmt: skip
def test_a_key_in_a_store_s_address_is_refused_and_kept_nowhere(
    store: str, parameter: str, address: str, home: Path, cli: Callable[..., str],
    laid_out: Callable[..., Path], texts_below: Callable[[Path], Any],
) -> None:  # fmt: skip
    path = laid_out(
        Path.cwd(), f"{TEXT}embedders: [wordllama]\nstores: [{{{store}: {{{parameter}: '{address}'}}}}]\n"
    )
    with pytest.raises(ExperimentError) as caught:
        experiment.load(path)
    assert "hunter2" not in str(caught.value)
    if store == "qdrant":
        assert "hunter2" not in cli("run", "--out", "run", code=2)
        path.unlink()
        assert not any("hunter2" in text for where in (Path.cwd(), home) for _, text in texts_below(where))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me@h/db?password=hunter2secret",
        "host=h password = hunter2secret",
        "redis://h?password=hunter2secret",
    ],
)
def test_a_password_in_a_database_s_address_is_refused(
    address: str, home: Path, laid_out: Callable[..., Path]
) -> None:
    store = (
        f"{{redis: {{url: '{address}'}}}}"
        if address.startswith("redis")
        else f"{{pgvector: {{dsn: '{address}'}}}}"
    )
    with pytest.raises(ExperimentError) as caught:
        experiment.load(laid_out(Path.cwd(), f"{TEXT}embedders: [wordllama]\nstores: [{store}]\n"))
    assert "hunter2" not in str(caught.value)


def test_the_file_env_reaches_every_store(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """QDRANT_URL and QDRANT_API_KEY there take effect."""
    for name in ("QDRANT_URL", "QDRANT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    plugin = registry.load("stores", "qdrant")
    with Loopback(lambda _: (200, {"title": "qdrant", "version": "1.2.3"})) as server:
        Path(".env").write_text(f"QDRANT_URL={server.url}\nQDRANT_API_KEY={KEY}\n")
        assert plugin(plugin.Params(), home).engine_version() == "Qdrant 1.2.3 (server)"
        assert {request.headers.get("api-key") for request in server.requests} == {KEY}


def test_a_refused_key_is_named_and_not_printed(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    plugin = registry.load("stores", "qdrant")
    with Loopback(lambda _: (403, {"status": {"error": "forbidden"}})) as server:
        store = plugin(plugin.Params(url=server.url), home)
        with pytest.raises(StoreError, match="QDRANT_API_KEY") as caught:
            store.engine_version()
    assert KEY not in str(caught.value)
