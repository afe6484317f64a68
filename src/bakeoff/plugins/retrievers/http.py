"""A search behind HTTP that answers with JSON; JMESPath expressions locate the results in the answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qsl, quote, urlsplit

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult
from pydantic import AfterValidator, Field, model_validator

from bakeoff.errors import RetrieverError
from bakeoff.plugins._settings import Settings
from bakeoff.plugins.retrievers._rows import integer, number, refuse_filter
from bakeoff.runtime.json_client import JsonClient
from bakeoff.storage.consent import Destination, key_for
from bakeoff.storage.environment import SettingSource
from bakeoff.storage.redaction import SECRET
from bakeoff.types import Condition, DateCondition, Json, JsonObject, RetrievedRow, Where

FILTERS = "{filters}"
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SECRET_HEADERS = ("authorization", "api-key", "apikey", "token", "secret", "cookie", "password")
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
SHAPE_DEPTH, SHAPE_KEYS, SHAPE_NAME = 4, 12, 60
PATH_CHARACTERS, PATH_DEPTH = 1000, 60
PATH_GROWTH = 64
"""Times its answer that an expression may make: [@, @][] doubles a list, and thirty of them fill any memory."""
_GROWING_FUNCTIONS = ("join", "map")


def _valid_path(value: str) -> str:
    if len(value) > PATH_CHARACTERS:
        raise ValueError(f"it has {len(value):,} characters; an expression has at most {PATH_CHARACTERS:,}")
    try:
        depth, growth = _cost(jmespath.compile(value).parsed)
    except JMESPathError as exc:
        raise ValueError(f"{value!r} is not a JMESPath expression: {str(exc).splitlines()[0]}") from exc
    except RecursionError:
        depth, growth = PATH_DEPTH + 1, 1
    if depth > PATH_DEPTH:
        raise ValueError(f"it nests more than {PATH_DEPTH} levels. Make the expression simpler")
    if growth > PATH_GROWTH:
        raise ValueError(f"it may make more than {PATH_GROWTH} times the answer. Make the expression simpler")
    return value


def _cost(node: dict[str, Any]) -> tuple[int, int]:
    """How deep an expression nests, and how many times its input it may make."""
    inner = [_cost(one) for one in node["children"] if isinstance(one, dict)]  # a slice has numbers
    growth = math.prod(one for _, one in inner)
    if node["type"].startswith("multi_select"):
        growth *= max(1, len(inner))
    elif node["type"] == "function_expression" and node["value"] in _GROWING_FUNCTIONS:
        growth *= 8
    return 1 + max((one for one, _ in inner), default=0), growth


def _public_url(value: str) -> str:
    at = urlsplit(value)
    if at.scheme not in ("http", "https") or not at.hostname:
        raise ValueError("it is not an http:// or https:// address")
    secret = any(name.upper().replace("-", "_").endswith(SECRET) for name, _ in parse_qsl(at.query))
    if "@" in at.netloc or secret:
        raise ValueError("a password or key in an address would be stored; use headers with ${NAME}")
    return value


Path = Annotated[str, AfterValidator(_valid_path)]
"""A JMESPath expression."""


class HttpRetriever:
    """Sends each query to a URL, and extracts ids, texts and scores from the answer."""

    version: ClassVar[str] = "1"
    remote: ClassVar[bool] = True

    class Params(Settings):
        """Where to send requests, what to send, and where the results are in the answer."""

        url: Annotated[str, AfterValidator(_public_url)] = Field(
            ..., description="address; {query} and {k} in it are filled in"
        )
        method: Literal["GET", "POST"] = Field("POST", description="GET sends no body")
        headers: dict[str, str] = Field({}, description="values may contain ${NAME} from the environment")
        key_env: str = Field("", description="environment variable with a key, sent as Authorization: Bearer")
        body: Json = Field(
            None, description="what is sent as JSON, with {query}, {k} and {filters} filled in"
        )
        filters: JsonObject = Field(
            {},
            description="by field, what {filters} holds for a filter: {value} or {values}, {least} and {most} of a "
            "number, {from} and {to} of a date",
        )
        hits: Path = Field("@", description="where the list of results is in the answer")
        id: Path | None = Field(None, description="in a result: the document's id")
        text: Path | None = Field(None, description="in a result: the passage")
        score: Path | None = Field(None, description="in a result: the score, higher is better")
        start: Path | None = Field(None, description="in a result: the first character in the document")
        end: Path | None = Field(None, description="in a result: the character after the last")
        timeout: float = Field(60.0, gt=0, le=3600, description="seconds to wait for one answer")
        retries: int = Field(3, ge=0, le=20, description="retries after 429, 5xx or a timeout")
        requests_per_minute: float | None = Field(
            None, gt=0, description="most requests per minute; default: no limit"
        )

        @model_validator(mode="after")
        def _complete(self) -> HttpRetriever.Params:
            if self.id is None and self.text is None:
                raise ValueError("map id, text or both: without them, results can't be found in the corpus")
            if self.method == "GET" and self.body is not None:
                raise ValueError("GET sends no body; put {query} into the url, or use method: POST")
            if "{query}" not in json.dumps([self.url, self.body], ensure_ascii=False):
                raise ValueError(
                    "{query} is neither in url nor in body, so every query would get the same answer"
                )
            if self.filters and FILTERS not in json.dumps(self.body, ensure_ascii=False):
                raise ValueError("filters are set, but {filters} is not in body: no filter would be sent")
            for name, value in self.headers.items():
                if not _HEADER_NAME.fullmatch(name):
                    raise ValueError(f"{name!r} is not the name of a header. Use letters, digits and -")
                if any(word in name.lower() for word in _SECRET_HEADERS) and not _VARIABLE.search(value):
                    raise ValueError(
                        f"the header {name} would be stored with its value. Write ${{NAME}}, and set NAME in the "
                        "environment"
                    )
            return self

    def __init__(self, params: Params) -> None:
        at = urlsplit(params.url)
        self._params = params
        self._path = f"{at.path or '/'}{f'?{at.query}' if at.query else ''}"
        origin = f"{at.scheme}://{at.netloc}"
        headers = {name: _filled_header(value, origin) for name, value in params.headers.items()}
        self._server = JsonClient(origin, params.key_env, params, RetrieverError, headers=headers)
        self.takes_filters = bool(params.filters)
        self._hits = jmespath.compile(params.hits)
        self._fields = {
            name: _compile_path(getattr(params, name)) for name in ("id", "text", "score", "start", "end")
        }

    def pace(self) -> None:
        """Wait as requests_per_minute requires."""
        self._server.wait_for_turn()

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Send one request; results are extracted after the clock has stopped."""
        values: dict[str, object] = {"query": text, "k": k}
        if not self.takes_filters:
            refuse_filter(where)
        else:
            values["filters"] = [self._filter(one) for one in where]
        path = self._path.replace("{query}", quote(text, safe="")).replace("{k}", str(k))
        answer = self._server.request(self._params.method, path, fill_template(self._params.body, values))
        return self._rows(answer)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _rows(self, answer: object) -> Iterator[RetrievedRow]:
        found = self._hits.search(answer)
        if not isinstance(found, list):
            raise RetrieverError(
                f"hits: {self._params.hits} is {shape(found, 0)}, not a list. The answer is {shape(answer)}."
            )
        for rank, one in enumerate(found, 1):
            yield self._row(one, rank)

    def _row(self, one: object, rank: int) -> RetrievedRow:
        values = {name: path.search(one) for name, path in self._fields.items() if path is not None}
        known = values.get("id") is not None or values.get("text") is not None
        for name, value in values.items():
            if value is None and not (known and name in ("id", "text")):
                raise RetrieverError(
                    f"{name}: {getattr(self._params, name)} finds nothing in the result at rank {rank}. "
                    f"A result is {shape(one)}."
                )
        return RetrievedRow(
            _text(values.get("id")),
            integer(values.get("start")),
            integer(values.get("end")),
            _text(values.get("text")),
            number(values.get("score")),
        )

    def _filter(self, one: Condition) -> object:
        if one.field not in self._params.filters:
            raise RetrieverError(f"filters has no entry for {one.field}. Add one, or remove that filter.")
        template, values = self._params.filters[one.field], _filter_values(one)
        written = json.dumps(template, ensure_ascii=False)
        sent = {name for name in values if f"{{{name}}}" in written}
        sent |= {"value", "values"} if sent & {"value", "values"} and values["value"] is not None else set()
        if unsent := [
            f"{{{name}}}" for name, value in values.items() if value is not None and name not in sent
        ]:
            raise RetrieverError(
                f"filters.{one.field} does not use {' or '.join(unsent)}, which a question's filter has. Add it."
            )
        return fill_template(template, values)


def _filter_values(one: Condition) -> dict[str, object]:
    """Values a template may use of a condition; None for those the condition lacks."""
    first = one.among[0] if len(one.among) == 1 else None
    named: dict[str, object] = {"value": first, "values": list(one.among) or None}
    if isinstance(one, DateCondition):
        return {**named, "from": _iso(one.least), "to": _iso(one.most)}
    return {**named, "least": one.least, "most": one.most}


def _iso(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    )


def fill_template(template: object, values: Mapping[str, object]) -> object:
    """Fill the {names} in a template; a text that is a single name becomes its value, or is dropped if it has
    none."""
    if isinstance(template, dict):
        filled = {name: fill_template(one, values) for name, one in template.items()}
        return {name: one for name, one in filled.items() if one is not None or template[name] is None}
    if isinstance(template, list):
        return [fill_template(one, values) for one in template]
    if not isinstance(template, str):
        return template
    alone = template[1:-1] if template[:1] == "{" and template[-1:] == "}" else ""
    if alone in values:
        return values[alone]
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), template)


def shape(value: object, depth: int = SHAPE_DEPTH) -> str:
    """Describe JSON by keys and value types, never by the values themselves."""
    if isinstance(value, dict):
        if not depth:
            return f"an object of {len(value)} keys"
        names = [
            f"{name[:SHAPE_NAME]}: {shape(one, depth - 1)}" for name, one in list(value.items())[:SHAPE_KEYS]
        ]
        return f"{{{', '.join([*names, *(['…'] if len(value) > SHAPE_KEYS else [])])}}}"
    if isinstance(value, list):
        inside = f" of {shape(value[0], depth - 1)}" if value and depth else ""
        return f"[{len(value)}{inside}]"
    kinds = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


def _filled_header(value: str, origin: str) -> str:
    """Fill environment values into a header, if they may be sent to this server."""
    destination = Destination(origin, SettingSource.EXPERIMENT)
    text = _VARIABLE.sub(lambda found: key_for(found[1], destination), value)
    if not (text.isascii() and text.isprintable()):
        raise RetrieverError("a header contains invalid characters. Set its variable again.")
    return text


def _compile_path(path: str | None) -> ParsedResult | None:
    return None if path is None else jmespath.compile(path)


def _text(value: object) -> str | None:
    return (
        None if value is None else str(value) if not isinstance(value, list) else "\n".join(map(str, value))
    )
