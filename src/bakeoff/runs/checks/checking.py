"""validate: one walk over everything that can be checked before a model is loaded."""

from __future__ import annotations

from pathlib import Path

from bakeoff.config import experiment
from bakeoff.config.plan import Plan
from bakeoff.errors import BakeoffError, UserError
from bakeoff.measures.names import parse
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_corpus, embedded_texts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.readings import read_corpus
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
from bakeoff.runs.checks.findings import LEVELS, Ceiling, Finding, Power, TargetCheck, ValidationReport
from bakeoff.runs.checks.parts import check_weights, load_faults
from bakeoff.runs.checks.power import power_of
from bakeoff.runs.checks.queries import check_queries, check_sections
from bakeoff.runs.checks.rule_coverage import automation_rows, check_automation
from bakeoff.runs.checks.targets import check_targets
from bakeoff.runs.checks.truth import check_truth, query_rows, rule_rows
from bakeoff.runtime.events import Emit, no_listener
from bakeoff.runtime.offline import no_network
from bakeoff.storage.cache import Cache
from bakeoff.storage.weights import home_folder as default_home
from bakeoff.truth.clusters import query_clusters
from bakeoff.truth.queries import QuerySet, read_queries


def validate(
    what: str | Path, *, home: Path | None = None, pilot: Path | None = None, emit: Emit = no_listener
) -> ValidationReport:
    """Everything that is wrong with an experiment, and what it can show; `pilot` is the folder of an earlier run."""
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
    """The texts that the first chunker of an experiment gives to a model."""
    plan = experiment.load(what)
    context = StageContext(Cache((home or default_home()) / "cache"))
    corpus, part = read_corpus(plan, context), chunkers(plan)[0]
    chunking = chunk_corpus(part, corpus, context)
    return embedded_texts(chunking.chunks)


def _read(
    plan: Plan, context: StageContext, findings: list[Finding]
) -> tuple[QuerySet | None, ReadCorpus | None]:
    """Queries and documents; what cannot be read is a finding, and the other is read all the same."""
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
    """Chunk where something speaks of chunks, and execute every rule."""
    chunkings = _chunkings(plan, corpus, context, findings) if needs_chunks(plan, queries) else {}
    tables = {made.fingerprint: made.chunks for made in chunkings.values()}
    truth = plan_truth(plan, queries, corpus, tables)
    return ValidationContext(plan, queries, corpus, chunkings, truth, experiment_text(plan, path.name))


def _chunkings(
    plan: Plan, corpus: ReadCorpus, context: StageContext, findings: list[Finding]
) -> dict[str, ChunkedCorpus]:
    made = {}
    for part in chunkers(plan):
        try:
            made[part.label] = chunk_corpus(part, corpus, context)
        except BakeoffError as exc:
            findings.append(Finding("error", "chunker", part.label, str(exc)))
    return made


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
        {label: made.chunks for label, made in material.chunkings.items()},
        material.truth.judgments,
    )
    findings += check_corpus(material.corpus, queries)
    findings += check_sections(queries, plan.measures, material.conventions)
    findings += [*check_measures(material, ceilings), *unreachable, *weak]
    return _report(
        plan.name, apply_allow_list(findings, plan.settings.allow), material, ceilings, targets, power
    )


def _clusters(material: ValidationContext) -> tuple[str, ...]:
    """The clusters of the queries that have a truth."""
    import pyarrow.compute as pc

    judgments = material.truth.judgments
    judged = set(judgments.filter(pc.greater(judgments["grade"], 0))["query"].to_pylist())
    found = query_clusters(material.queries.queries, judgments, corpus=material.corpus.documents.num_rows)
    return tuple(cluster for place, cluster in enumerate(found) if place in judged)


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
