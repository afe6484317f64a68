"""validate: runs every check that needs no model."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

from bakeoff import registry
from bakeoff.config import experiment, yaml_document
from bakeoff.config.model_names import resolve_model
from bakeoff.config.plan import Plan, PluginSpec
from bakeoff.errors import (
    BakeoffError,
    ConsentError,
    DataError,
    ExperimentError,
    MissingExtraError,
    QueryFileError,
    SettingError,
    UserError,
)
from bakeoff.measures.names import parse
from bakeoff.pipeline.canary import pooling_note
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_corpus, embedded_texts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.given_vectors import check_given_vectors, vector_supplier
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.pipeline.vector_forms import require_dims
from bakeoff.protocols import Embedder, Reranker, Retriever
from bakeoff.runs.checks.blocking import apply_allow_list
from bakeoff.runs.checks.ceilings import Ceilings, check_measures
from bakeoff.runs.checks.context import (
    ValidationContext,
    chunkers,
    experiment_text,
    named_preset,
    needs_chunks,
    plan_truth,
)
from bakeoff.runs.checks.corpus import check_corpus, corpus_facts
from bakeoff.runs.checks.filters import check_filters
from bakeoff.runs.checks.findings import (
    AUTOMATED,
    LEVELS,
    Automated,
    AutomationRow,
    Ceiling,
    Finding,
    Power,
    TargetCheck,
    ValidationReport,
)
from bakeoff.runs.checks.power import power_of
from bakeoff.runs.checks.queries import check_queries, check_sections
from bakeoff.runs.checks.targets import check_targets
from bakeoff.runs.checks.truth import check_truth, query_rows, rule_rows
from bakeoff.runtime.count_text import count
from bakeoff.runtime.events import Emit, no_listener
from bakeoff.storage.cache import Cache
from bakeoff.storage.consent import require_code
from bakeoff.storage.weights import home_folder as default_home
from bakeoff.truth.clusters import query_clusters
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.truth.rules import Rule, Sql, WordsRule, leaves
from bakeoff.types import ModelInfo


def validate(
    what: str | Path, *, home: Path | None = None, pilot: Path | None = None, emit: Emit = no_listener
) -> ValidationReport:
    """Check an experiment and estimate what it can detect; `pilot` is the folder of an earlier run."""
    with no_network():
        return _validate_plan(Path(what), home, pilot, emit)


def _validate_plan(what: Path, home: Path | None, pilot: Path | None, emit: Emit) -> ValidationReport:
    path = what / "bakeoff.yaml" if what.is_dir() else what
    try:
        plan = experiment.load(path)
        named_preset(plan)
    except UserError as exc:
        return _report(path.parent.name, list(load_faults(path, exc)))
    findings = list(check_weights(plan))
    context = StageContext(Cache((home or default_home()) / "cache"), emit)
    queries, corpus = _read(plan, context, findings)
    if queries is not None:
        findings += [*check_queries(queries), *check_automation(queries)]
    if queries is None or corpus is None:
        return _report(plan.name, findings)
    return _judge(_material(plan, queries, corpus, context, path, findings), findings, pilot)


def first_chunks(what: Path, home: Path | None = None) -> list[str]:
    """Texts that the first chunker of an experiment passes to a model."""
    plan = experiment.load(what)
    context = StageContext(Cache((home or default_home()) / "cache"))
    corpus, part = read_corpus(plan, context), chunkers(plan)[0]
    chunking = chunk_corpus(part, corpus, context)
    return embedded_texts(chunking.chunks)


def _read(
    plan: Plan, context: StageContext, findings: list[Finding]
) -> tuple[QuerySet | None, ReadCorpus | None]:
    """Read queries and documents; if one is unreadable, that is a finding and the other is still read."""
    queries, corpus = None, None
    try:
        queries = read_queries(plan.queries)
    except UserError as exc:
        findings += [Finding("error", "queries", plan.queries.name, line) for line in exc.lines]
    try:
        corpus = read_corpus(plan, context)
    except UserError as exc:
        findings.append(Finding("error", "corpus", plan.source.name, str(exc)))
    return queries, corpus


def _material(
    plan: Plan,
    queries: QuerySet,
    corpus: ReadCorpus,
    context: StageContext,
    path: Path,
    findings: list[Finding],
) -> ValidationContext:
    """Chunk if a rule or measure refers to chunks, and execute every rule."""
    chunkings = _chunkings(plan, corpus, context, findings) if needs_chunks(plan, queries) else {}
    findings += _check_given_vectors(plan, chunkings)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = plan_truth(plan, queries, corpus, tables)
    return ValidationContext(plan, queries, corpus, chunkings, truth, experiment_text(plan, path.name))


def _chunkings(
    plan: Plan, corpus: ReadCorpus, context: StageContext, findings: list[Finding]
) -> dict[str, ChunkedCorpus]:
    chunkings = {}
    for part in chunkers(plan):
        try:
            chunkings[part.label] = chunk_corpus(part, corpus, context)
        except BakeoffError as exc:
            findings.append(Finding("error", "chunker", part.label, str(exc)))
    return chunkings


def _check_given_vectors(plan: Plan, chunkings: Mapping[str, ChunkedCorpus]) -> Iterator[Finding]:
    """Vectors that came with the chunks and that a run could not use; remote models are not asked."""
    pairs = {
        (system.chunker.label, system.embedder.label): (system.chunker, system.embedder)
        for system in plan.systems
        if system.embedder and system.chunker.label in chunkings
    }
    for chunker, embedder in pairs.values():
        plugin = cast("type[Embedder]", registry.load(embedder.kind, embedder.name))
        if getattr(plugin, "remote", False) or not vector_supplier(chunker, embedder):
            continue
        try:
            with contextlib.closing(plugin(embedder.params)) as model:
                check_given_vectors(chunker, chunkings[chunker.label], embedder, model.info.dims)
        except BakeoffError as exc:
            yield Finding("error", "vectors", chunker.label, str(exc))


def _judge(material: ValidationContext, findings: list[Finding], pilot: Path | None) -> ValidationReport:
    ceilings = Ceilings(material)
    targets, unreachable = check_targets(material, ceilings)
    plan, queries = material.plan, material.queries
    scorable = ceilings.scorable(parse(plan.primary))
    power, weak = power_of(plan.primary, scorable, len(plan.systems), pilot, _clusters(material))
    findings += check_truth(material)
    findings += check_filters(
        plan,
        queries,
        material.corpus,
        {label: chunking.chunks for label, chunking in material.chunkings.items()},
        material.truth.judgments,
    )
    findings += check_corpus(material.corpus, queries)
    findings += check_sections(queries, plan.measures, material.conventions)
    findings += [*check_measures(material, ceilings), *unreachable, *weak]
    return _report(
        plan.name, apply_allow_list(findings, plan.settings.allow), material, ceilings, targets, power
    )


def _clusters(material: ValidationContext) -> tuple[str, ...]:
    """Clusters of the queries that have truth."""
    import pyarrow.compute as pc

    judgments = material.truth.judgments
    judged = set(judgments.filter(pc.greater(judgments["grade"], 0))["query"].to_pylist())
    clusters = query_clusters(material.queries.queries, judgments, corpus=material.corpus.documents.num_rows)
    return tuple(cluster for place, cluster in enumerate(clusters) if place in judged)


def _report(
    name: str,
    findings: list[Finding],
    material: ValidationContext | None = None,
    ceilings: Ceilings | None = None,
    targets: list[TargetCheck] | None = None,
    power: Power | None = None,
) -> ValidationReport:
    ordered = tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))
    if material is None or ceilings is None:
        return ValidationReport(name, ordered)
    rows: list[Ceiling] = [row for m in material.plan.measures for row in ceilings.rows(parse(m))]
    return ValidationReport(
        name=name,
        findings=ordered,
        systems=len(material.plan.systems),
        corpus=corpus_facts(material.corpus, material.chunk_counts),
        queries=query_rows(material),
        rules=rule_rows(material),
        automation=automation_rows(material.queries),
        ceilings=tuple(rows),
        targets=tuple(targets or ()),
        power=power,
        declared_mix=material.queries.metadata.difficulty_mix,
        conventions=material.conventions.to_dict(),
    )


_LISTS = ("chunkers", "embedders", "encoders", "stores", "rerankers", "retrievers")


def check_weights(plan: Plan) -> Iterator[Finding]:
    """Embedders, rerankers and retrievers that couldn't start; models are described without being loaded."""
    parts = (
        part for system in plan.systems for part in (system.retriever, system.embedder, *system.parts[5:])
    )
    chosen = [part for part in parts if part]
    for part in {(part.kind, part.label): part for part in chosen}.values():
        try:
            if note := _ask(part):
                yield Finding("warning", "pooling", part.label, note)
        except ConsentError as exc:
            yield Finding("error", "consent", part.label, str(exc))
        except UserError as exc:
            yield Finding("error", "weights", part.label, str(exc))
        except BakeoffError as exc:
            yield Finding("error", "unreachable", part.label, f"it can't start: {exc}")


def load_faults(path: Path, error: UserError) -> Iterator[Finding]:
    """Why an experiment can't be read; lists all missing packages at once."""
    missing = list(_missing(path)) if isinstance(error, MissingExtraError) else []
    if missing:
        yield from missing
    else:
        yield from (Finding("error", "experiment", path.name, line) for line in error.lines)


def _ask(part: PluginSpec) -> str:
    """Start a local model and return a note on its pooling; a remote model is created but not contacted.

    The user's own code is not run; only its permission is checked.
    """
    if part.code_module:
        require_code(part.code_module)
        return ""
    plugin = cast("type[Embedder | Reranker | Retriever]", registry.load(part.kind, part.name))
    model = plugin(part.params)
    try:
        if not getattr(plugin, "remote", False):
            info = getattr(model, "info", None)
            if isinstance(info, ModelInfo):
                require_dims(part, info)
            return pooling_note(part.label, model)
        return ""
    finally:
        model.close()


def _missing(path: Path) -> Iterator[Finding]:
    located = yaml_document.read(path, ExperimentError, name=path.name)
    for kind in _LISTS:
        for place, entry in enumerate(located.data.get(kind) or []):
            name = entry if isinstance(entry, str) else next(iter(entry), "")
            try:
                registry.load(kind, resolve_model(kind, name, {}, path.parent)[0])
            except UserError as exc:
                yield Finding("error", "extra", located.where((kind, place)), str(exc))


_METHODS = ("connect", "connect_ex", "sendto", "sendmsg")
_LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")


@contextlib.contextmanager
def no_network() -> Iterator[None]:
    """Block connections and name look-ups; sockets between local processes still work."""
    with contextlib.ExitStack() as stack:
        for name in _METHODS:
            _replace(stack, socket.socket, name, _local_only(name))
        for name in _LOOKUPS:
            _replace(stack, socket, name, _refuse)
        yield


def _replace(stack: contextlib.ExitStack, owner: object, name: str, value: Callable[..., object]) -> None:
    """Replace an attribute until the stack closes."""
    if name in vars(owner):
        stack.callback(setattr, owner, name, vars(owner)[name])
    else:
        stack.callback(delattr, owner, name)
    setattr(owner, name, value)


def _local_only(name: str) -> Callable[..., object]:
    original = getattr(socket.socket, name)

    def call(self: socket.socket, *args: object, **kwargs: object) -> object:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse()
        return original(self, *args, **kwargs)

    return call


def _refuse(*_args: object, **_kwargs: object) -> object:
    raise SettingError("a plug-in tried to open a connection, but this command runs offline.")


def validate_queries(path: Path, read: Callable[[Path], QuerySet] = read_queries) -> ValidationReport:
    """Check a query file on its own, without documents; `read` reads its format."""
    try:
        queries = read(path)
    except (DataError, QueryFileError) as exc:
        return ValidationReport(path.name, (Finding("error", "queries", path.name, str(exc)),))
    findings = [*check_queries(queries), *check_automation(queries)]
    ordered = tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))
    mix = queries.metadata.difficulty_mix
    return ValidationReport(path.name, ordered, automation=automation_rows(queries), declared_mix=mix)


def automation_rows(queries: QuerySet) -> tuple[AutomationRow, ...]:
    """Queries of each category by how far their truth can be judged without people."""
    found: dict[str, dict[Automated, int]] = {}
    for query, rule in zip(queries.queries, queries.rules, strict=True):
        counts = found.setdefault(query.category, dict.fromkeys(AUTOMATED, 0))
        counts["yes" if query.negative else automation_of(rule)] += 1
    return tuple(AutomationRow(category, counts) for category, counts in found.items())


def automation_of(rule: Rule | None) -> Automated:
    """How far a query's rule can be judged without people; targets named by a person need no one else."""
    if rule is None:
        return "no"
    by_words = [leaf for _, leaf in leaves(rule) if isinstance(leaf, Sql | WordsRule)]
    if not by_words:
        return "yes"
    return "mostly" if any(leaf.expected for leaf in by_words) or rule.expected else "partly"


def check_automation(queries: QuerySet) -> Iterator[Finding]:
    """A note if only words, or no rule yet, decide what is relevant to some queries."""
    rows = automation_rows(queries)
    words = {row.category: row.counts["partly"] for row in rows if row.counts["partly"]}
    if not words:
        return
    listed = ", ".join(f"{name or 'without category'} {count}" for name, count in words.items())
    total = sum(words.values())
    text = (
        f"{count(total, 'query', 'queries')} of {len(queries.queries)} ({listed}) are judged by words that occur in a "
        "text, with no count of what should be found: right answers in other words count as wrong, so P, Hit and RR "
        "are lower bounds as far as the words' hits are right; R, nDCG and differences are not. Let people judge them: "
        "bakeoff review serve RUN."
    )
    yield Finding("note", "by-words", queries.name, text)
