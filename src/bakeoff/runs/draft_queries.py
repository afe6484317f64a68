"""suggest: reads the corpus, drafts queries from its structure, selects and writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.config import experiment
from bakeoff.config.plan import Plan
from bakeoff.errors import CorpusError, MissingExtraError, SettingError
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.storage.cache import Cache
from bakeoff.storage.weights import home_folder as default_home
from bakeoff.truth.drafting.docstrings import from_docstrings
from bakeoff.truth.drafting.draft import QueryDraft, choose, query_text, read_back, write_masked
from bakeoff.truth.drafting.sections import (
    SHORTEST_BODY,
    WORDS_ALONE,
    from_headings,
    from_title,
    is_presentation,
)
from bakeoff.truth.resolve import UNJUDGED_COPY, resolve


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """Number of drafts, the seed that selects them, and the SQL dialect ('' to try several)."""

    n: int = 60
    seed: int = 7
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class DraftedQueries:
    """What was drafted, by category, and notes for the user."""

    text: str
    drafts: tuple[QueryDraft, ...]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def total(self) -> int:
        """Number of drafted queries."""
        return len(self.drafts)


def suggest(
    what: Path,
    wish: DraftRequest,
    out: Path,
    *,
    masked: Path | None = None,
    force: bool = False,
    home: Path | None = None,
) -> DraftedQueries:
    """Write drafted queries to a file and, with `masked`, the corpus without the sentences they came from."""
    if out.exists() and not force:
        raise SettingError(f"{out} exists. Use --force to replace it, or another --out.")
    plan = experiment.load(what)
    corpus = read_corpus(plan, StageContext(Cache((home or default_home()) / "cache")))
    drafts = draft_queries(corpus, wish, plan.name)
    if masked is not None:
        _write_masked(plan, corpus, drafts, masked)
    try:
        out.write_text(drafts.text, encoding="utf-8")
    except OSError as exc:
        raise SettingError(f"cannot write {out}: {exc.strerror}. Choose another --out.") from exc
    return drafts


def draft_queries(corpus: ReadCorpus, wish: DraftRequest, name: str) -> DraftedQueries:
    """Draft queries from a corpus; each one resolves."""
    columns = [corpus.documents[key].to_pylist() for key in ("id", "kind", "text")]
    documents = list(zip(*columns, strict=True))
    notes: list[str] = []
    titles = corpus.documents["title"].to_pylist()
    pool = [*_from_texts(documents, titles), *_from_sql(documents, wish.dialect, notes)]
    chosen = _resolvable(choose(pool, wish.n, wish.seed), corpus, notes)
    if not chosen:
        raise CorpusError(
            f"found nothing to draft from in {len(documents)} documents. Drafts come from Python docstrings, headings"
            f" with {SHORTEST_BODY} characters or more below them, titles of {WORDS_ALONE} words or more, and SQL"
            f" relations. {' '.join(notes)}".strip()
        )
    if len(chosen) < wish.n:
        notes.append(f"Drafted {len(chosen)} of the {wish.n} requested: the documents offer no more.")
    counts = Counter(draft.category for draft in chosen)
    return DraftedQueries(query_text(chosen, f"{name}-suggested"), tuple(chosen), counts, tuple(notes))


def _from_texts(documents: list[tuple[str, str, str]], titles: list[str]) -> Iterator[QueryDraft]:
    for (name, kind, text), title in zip(documents, titles, strict=True):
        if is_presentation(name, text, kind):
            continue
        if kind == "python":
            yield from from_docstrings(name, text)
        else:
            yield from list(from_headings(name, text, kind)) or from_title(name, title, kind)


def _from_sql(documents: list[tuple[str, str, str]], dialect: str, notes: list[str]) -> list[QueryDraft]:
    files = [(name, text) for name, kind, text in documents if kind == "sql"]
    if not files:
        return []
    try:
        from bakeoff.truth.drafting.relations import relations
    except ImportError as exc:
        missing = MissingExtraError("SQL lineage needs sqlglot: pip install 'bakeoff[suggest]'")
        if len(files) == len(documents):
            raise missing from exc
        notes.append(f"{len(files)} SQL files were skipped. {missing}")
        return []
    from bakeoff.truth.drafting.lineage import from_lineage

    tables, failed = relations(files, dialect)
    if failed:
        examples = ", ".join(failed[:3])
        notes.append(f"{len(failed)} SQL files could not be parsed ({examples}). Set --dialect.")
    return list(from_lineage(tables))


def _resolvable(drafts: list[QueryDraft], corpus: ReadCorpus, notes: list[str]) -> list[QueryDraft]:
    """The drafts whose truth resolves without a problem."""
    if not drafts:
        return []
    wrong = {
        problem.query_id
        for problem in resolve(read_back(query_text(drafts, "")), corpus.documents, {}).problems
        if problem.code != UNJUDGED_COPY
    }
    if wrong:
        notes.append(f"{len(wrong)} drafts were dropped because their truth does not resolve.")
    return [draft for draft in drafts if draft.id not in wrong]


def _write_masked(plan: Plan, corpus: ReadCorpus, drafts: DraftedQueries, into: Path) -> None:
    folder = getattr(plan.source.params, "folder", None)
    if plan.source.name != "folder" or not isinstance(folder, Path):
        raise SettingError(f"--masked copies a folder, but the corpus is {plan.source.name}. Remove it.")
    columns = [corpus.documents[key].to_pylist() for key in ("id", "text")]
    try:
        write_masked(folder, into, dict(zip(*columns, strict=True)), drafts.drafts)
    except OSError as exc:
        raise SettingError(f"cannot write {into}: {exc.strerror}. Choose another --masked.") from exc
