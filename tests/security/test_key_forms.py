"""A key is masked in every form in which a server can repeat it, wherever the output of a plug-in goes."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Answer, Loopback, Request, openai

from bakeoff import registry
from bakeoff.errors import EmbedderError, StoreError
from bakeoff.storage.redaction import MASK, redact, redact_answer
from bakeoff.types import ModelInfo, Role

KEY = 'sk-pl+nt/ed"0123<4567&89abc'

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda key: json.dumps(key)[1:-1],
    "json, slashes": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "json, every character": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "json, upper case": lambda key: key.replace("+", "\\u002B").replace("/", "\\u002F").replace('"', '\\"'),
    "json in json": lambda key: json.dumps(json.dumps(key).replace("/", "\\/"))[1:-1],
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64, second alignment": lambda key: b64encode(b"x" + key.encode() + b"yz").decode(),
    "base64, third alignment": lambda key: b64encode(b"xy" + key.encode() + b"z").decode(),
    "base64 of a header": lambda key: b64encode(f"Bearer {key}".encode()).decode(),
    "base64 for URLs": lambda key: urlsafe_b64encode(key.encode()).decode(),
    "base64 in json": lambda key: (
        b64encode(key.encode()).decode().replace("/", "\\/").replace("+", "\\u002b")
    ),
    "url": lambda key: quote(key, safe=""),
    "url, lower case": lambda key: quote(key, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "url, every character": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "url twice": lambda key: quote(quote(key, safe=""), safe=""),
    "html": html.escape,
    "html, numbers": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "html, hexadecimal": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "python": lambda key: "".join(f"\\x{byte:02x}" for byte in key.encode()),
    "hexadecimal": lambda key: key.encode().hex(),
}

EXPERIMENT = """\
name: forms
corpus: {{folder: corpus}}
queries: queries.yaml
chunkers: [line]
embedders: [{{openai: {{base_url: "{url}/v1", model: tiny, retries: 0}}}}]
stores: [exact, {{weaviate: {{url: "{url}"}}}}, {{qdrant: {{url: "{url}"}}}}]
modes: [dense, bm25]
depth: 10
"""


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, home: Path) -> str:
    for name in ("OPENAI_API_KEY", "BAKEOFF_WEAVIATE_KEY", "QDRANT_API_KEY"):
        monkeypatch.setenv(name, KEY)
    return KEY


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_masked(form: str, planted: str) -> None:
    written = FORMS[form](planted)
    for text in (written, f"before {written} after", json.dumps(f"<{written}>"), f"{written}{written}"):
        shown = redact(text)
        assert MASK in shown
        assert written not in shown and planted not in shown and written[6:-6] not in shown


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_that_repeats_the_key_in_a_form(form: str, planted: str) -> None:
    """An embedder's refusal, and a store's, as raw text and below a JSON key, before and after it is parsed."""
    written = FORMS[form](planted)
    bodies = [f'{{"error": "no: {written}"}}', json.dumps({"message": written}), f"<b>{written}</b>"]
    embedder, store = registry.load("embedders", "openai"), registry.load("stores", "weaviate")
    for body in bodies:
        with Loopback(lambda _, body=body: (401, body)) as server:
            model = embedder(embedder.Params(base_url=f"{server.url}/v1", model="tiny", retries=0))
            with pytest.raises(EmbedderError) as refused:
                model.embed(["a"], Role.QUERY)
            with pytest.raises(StoreError) as other:
                store(store.Params(url=server.url), Path()).engine_version()
        for caught in (refused, other):
            assert planted not in str(caught.value) and written not in str(caught.value)


def test_a_description_that_repeats_the_key_is_masked(planted: str) -> None:
    """The name of a served model, and of an engine's version, reach tables and reports."""

    def answer(request: Request) -> Answer:
        if request.path.startswith("/_nodes"):
            return 200, {"nodes": {"a": {"version": planted}}}
        status, body = openai(request)
        return status, {**body, "model": f"m {planted}"}

    embedder, store = registry.load("embedders", "openai"), registry.load("stores", "opensearch")
    with Loopback(answer) as server:
        info: ModelInfo = embedder(embedder.Params(base_url=f"{server.url}/v1", model="tiny")).info
        version = store(store.Params(url=server.url), Path()).engine_version()
    assert planted not in repr(info) and MASK in info.revision
    assert version == f"OpenSearch {MASK}"


class _Leaky:
    """A plug-in of somebody else, which repeats the key in an error of its own, in its cause and in a generator."""

    version = "1"

    def __init__(self, params: object) -> None:
        self.params = params

    def embed(self, texts: list[str], role: Role) -> Any:
        try:
            raise KeyError(KEY)
        except KeyError as exc:
            raise RuntimeError("no vectors") from exc

    def close(self) -> None: ...

    def texts(self) -> Iterator[str]:
        yield "one"
        raise OSError(5, f"refused {KEY}")


def test_errors_of_any_plugin_and_their_causes_are_masked(planted: str) -> None:
    registry.add("embedders", "leaky", _Leaky)
    try:
        plugin = registry.load("embedders", "leaky")(None)
        with pytest.raises(EmbedderError) as caught:
            plugin.embed(["a"], Role.QUERY)
        with pytest.raises(EmbedderError) as later:
            list(plugin.texts())
    finally:
        registry.remove("embedders", "leaky")
    for one in (caught.value, later.value):
        assert one.__cause__ is None and one.__context__ is None
        assert planted not in f"{one!r} {one}"


@pytest.mark.parametrize("form", ["json, upper case", "base64, third alignment", "url, lower case"])
def test_no_form_of_the_key_in_anything_a_run_leaves(
    form: str,
    planted: str,
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
    texts_below: Callable[[Path], Any],
    home: Path,
) -> None:
    """Terminal, progress.json, run.json, tables and report.html of a run whose servers repeat the key."""
    written = FORMS[form](planted)

    def parrot(request: Request) -> Answer:
        if request.path == "/v1/embeddings":
            status, body = openai(request)
            return status, {**body, "model": f"m {planted}"}
        return 401, f'{{"error": "{written}", "message": {json.dumps(planted)}}}'

    with Loopback(parrot) as server:
        laid_out(Path.cwd(), EXPERIMENT.format(url=server.url))
        said = cli("run", "--out", "run", code=1)
        sent = str([request.headers for request in server.requests])
    said += cli("report", "run", "--format", "html,md")
    assert planted in sent, "the key was used"
    assert MASK in said
    for where, text in (("the output", said), *texts_below(Path("run")), *texts_below(home)):
        for leak in (planted, written, json.dumps(planted)[1:-1], html.escape(planted)):
            assert leak not in text, where


def test_a_search_that_answers_with_the_key_is_masked(
    planted: str,
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
    texts_below: Callable[[Path], Any],
) -> None:
    """Ids and passages that are not in the corpus come from the server alone, and are kept in tables and messages."""
    hits = [{"id": planted, "text": f"passage {planted}"}, {"id": "other", "text": planted}]
    retriever = '{{http: {{url: "{url}/find", key_env: OPENAI_API_KEY, body: {{q: "{{query}}"}}, hits: hits, id: id}}}}'
    with Loopback(lambda _: (200, {"hits": hits})) as server:
        experiment = "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [line]\nmodes: [bm25]\n"
        laid_out(Path.cwd(), f"{experiment}retrievers: [{retriever.format(url=server.url)}]\n")
        said = cli("run", "--out", "run", code=1)
        assert planted in str([request.headers for request in server.requests]), "the key was used"
    assert MASK in said
    for where, text in (("the output", said), *texts_below(Path("run"))):
        for leak in (planted, json.dumps(planted)[1:-1], html.escape(planted), "pl+nt"):
            assert leak not in text, where


def test_no_part_of_a_key_where_a_long_answer_is_cut(planted: str) -> None:
    for before in range(65_500, 65_540, 3):
        shown = redact_answer(b"x" * before + planted.encode() * 3)
        assert "pl+nt" not in shown and "sk-" not in shown


@given(
    st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\\"), min_size=8, max_size=40
    ),
    st.lists(st.sampled_from(sorted(FORMS)), min_size=1, max_size=2),
)
def test_any_key_in_any_two_forms(key: str, forms: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", key)
        written = key
        for form in forms:
            written = FORMS[form](written)
        shown = redact(f"a: {written}.")
    if not {"base64", "hexadecimal"} & {form.split(",")[0].split(" ")[0] for form in forms[1:]}:
        assert MASK in shown and written not in shown


@pytest.mark.parametrize("form", sorted({*FORMS} - {"json, upper case"}))
def test_a_password_that_looks_like_escapes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    password = "p\\n%41&lt;\\u0041"
    monkeypatch.setenv("DB_PASSWORD", password)
    shown = redact(f"a {FORMS[form](password)}")
    assert MASK in shown and FORMS[form](password) not in shown


def test_ordinary_text_is_not_changed(planted: str) -> None:
    text = 'a\\b %41 &amp; "q" \\u0041 ' + "words " * 100
    assert redact(text) == text
