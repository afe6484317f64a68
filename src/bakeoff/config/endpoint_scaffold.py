"""`bakeoff init --endpoint`: how to query a search endpoint, and where its results are in a sample answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import yaml

from bakeoff.errors import RetrieverError, SettingError
from bakeoff.runtime.json_client import JsonClient
from bakeoff.types import Json, JsonObject

SAMPLE_K = 5
DEEPEST = 6
SCORES = ("score", "relevance", "similarity", "rank_score")
STARTS, ENDS = ("start", "start_index", "start_char", "offset"), ("end", "end_index", "end_char")
IDS = ("document", "doc_id", "document_id", "docno", "path", "file", "source", "url", "id", "_id")
_LUCENE = {"query": {"multi_match": {"query": "{query}"}}, "size": "{k}"}
_PLAIN = {"query": "{query}", "k": "{k}"}


@dataclass(frozen=True, slots=True)
class _Once:
    """A retry policy of one attempt within ten seconds."""

    timeout: float = 10.0
    retries: int = 0
    requests_per_minute: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMapping:
    """How to query an endpoint, and JMESPath expressions for its answer; None if nothing fits."""

    url: str
    body: Json
    hits: str
    id: str | None
    text: str | None
    score: str | None
    start: str | None
    end: str | None
    results: int
    known: int
    """Number of sample results whose id is a document of the corpus."""

    def yaml_text(self) -> str:
        """The retriever as YAML for an experiment."""
        request = {"method": "POST", "body": self.body} if self.body is not None else {"method": "GET"}
        names = ("hits", "id", "text", "score", "start", "end")
        paths = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        http = {"url": self.url, **request, **paths, "as": "current"}
        text = yaml.safe_dump(
            {"retrievers": [{"http": http}]}, sort_keys=False, allow_unicode=True, width=100
        )
        return f"\n# the search you have now; check it with: bakeoff test retriever current\n{text}"


def probe_endpoint(url: str, body: Json, question: str, documents: Collection[str]) -> EndpointMapping:
    """Query an endpoint once, and propose a mapping of its answer; `documents` are the ids of the corpus."""
    if body is None and "{query}" not in url:
        body = _LUCENE if urlsplit(url).path.endswith("_search") else _PLAIN
    answer = _ask(url, body, question)
    hits, rows = _longest_list(answer)
    leaves = _leaves(rows)
    name, matches = _id(leaves, documents)
    text = _text(leaves)
    if name is None and text is None:
        raise RetrieverError(
            f"the results at {hits!r} have neither an id nor a text: {', '.join(leaves) or 'no fields'}. Write the "
            "mapping by hand."
        )
    return EndpointMapping(
        url=url,
        body=body,
        hits=hits,
        id=name,
        text=text,
        score=_score(leaves),
        start=_find_field(leaves, STARTS, int),
        end=_find_field(leaves, ENDS, int),
        results=len(rows),
        known=matches,
    )


def _ask(url: str, body: Json, question: str) -> Json:
    at = urlsplit(url)
    if at.scheme not in ("http", "https") or not at.hostname or "@" in at.netloc:
        raise SettingError(f"--endpoint {url!r} is not a plain http(s) address.")
    client = JsonClient(f"{at.scheme}://{at.netloc}", "", _Once(), RetrieverError)
    path = f"{at.path or '/'}{f'?{at.query}' if at.query else ''}"
    path = path.replace("{query}", quote(question, safe="")).replace("{k}", str(SAMPLE_K))
    try:
        return client.request("GET" if body is None else "POST", path, _fill_template(body, question))
    finally:
        client.close()


def _fill_template(template: Json, question: str) -> Json:
    if isinstance(template, dict):
        return {name: _fill_template(one, question) for name, one in template.items()}
    if isinstance(template, list):
        return [_fill_template(one, question) for one in template]
    if template == "{k}":
        return SAMPLE_K
    return template.replace("{query}", question) if isinstance(template, str) else template


def _longest_list(answer: Json) -> tuple[str, list[JsonObject]]:
    """Path and objects of the longest list of objects in an answer."""
    lists = list(_lists(answer, "", 0))
    if not lists:
        raise RetrieverError(
            "the sample answer holds no list of results. Use --question with a query that has results, or "
            "--body with the request it expects."
        )
    return max(lists, key=lambda one: len(one[1]))


def _lists(value: Json, path: str, depth: int) -> Iterator[tuple[str, list[JsonObject]]]:
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        rows = [one for one in value if isinstance(one, dict)]
        if rows:
            yield path or "@", rows
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _lists(one, _join(path, name), depth + 1)


def _leaves(rows: Sequence[JsonObject]) -> dict[str, list[Json]]:
    """Values of each field that every result has, by path."""
    flat = [dict(_flatten(row, "", 0)) for row in rows]
    return {path: [row[path] for row in flat] for path in flat[0] if all(path in row for row in flat)}


def _flatten(value: JsonObject, path: str, depth: int) -> Iterator[tuple[str, Json]]:
    for name, one in value.items():
        inner = _join(path, name)
        if isinstance(one, dict) and depth < DEEPEST:
            yield from _flatten(one, inner, depth + 1)
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            yield inner, one


def _join(path: str, name: str) -> str:
    safe = name if re.fullmatch(r"[A-Za-z_]\w*", name) else '"{}"'.format(name.replace('"', '\\"'))
    return f"{path}.{safe}" if path else safe


def _id(leaves: dict[str, list[Json]], documents: Collection[str]) -> tuple[str | None, int]:
    """The field with most corpus ids; if there are none: None if there is a text, else a field named like an id."""
    counts = {path: sum(str(value) in documents for value in values) for path, values in leaves.items()}
    best = max(counts, key=lambda path: counts[path], default=None)
    if best is not None and counts[best]:
        return best, counts[best]
    return (None if _text(leaves) else _find_field(leaves, IDS, (str, int))), 0


def _text(leaves: dict[str, list[Json]]) -> str | None:
    """The field with the longest multi-word texts."""
    lengths = {
        path: sum(map(len, values))
        for path, values in leaves.items()
        if all(isinstance(value, str) for value in values) and any(" " in value.strip() for value in values)
    }
    return max(lengths, key=lambda path: lengths[path], default=None)


def _score(leaves: dict[str, list[Json]]) -> str | None:
    """A field of descending numbers, preferably named like a score."""
    falling = [
        path
        for path, values in leaves.items()
        if all(isinstance(value, int | float) for value in values)
        and all(one >= other for one, other in itertools.pairwise(values))
        and len(set(values)) > min(1, len(values) - 1)
    ]
    named = [path for path in falling if any(word in path.lower() for word in SCORES)]
    return next(iter((*named, *falling)), None)


def _find_field(
    leaves: dict[str, list[Json]], names: Sequence[str], kind: type | tuple[type, ...]
) -> str | None:
    for name in names:
        for path, values in leaves.items():
            if path.rpartition(".")[2].strip('"').lower() == name and all(
                isinstance(v, kind) for v in values
            ):
                return path
    return None
