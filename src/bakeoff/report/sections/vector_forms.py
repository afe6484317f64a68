"""The report's section on vector forms: what smaller vectors lose, and what they save."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.cost import prices_of, run_costs
from bakeoff.runs.system_needs import decision_rule
from bakeoff.runs.vector_forms import FormFamily, MeasuredForm, form_families, smallest_form_sentence

BYTES = (
    "Bytes count the numbers of one vector as searched, without the index's links, scales and ids. A rescored form "
    "reorders its candidates by the full vectors, which it also keeps; the index size includes them."
)
TESTED = (
    "Losses are differences of the mean from full vectors, paired by question. The bounds hold for all forms of a "
    "family together (95 %) and allow for one unasked question of the worst kind."
)


def vector_forms_section(result: Result) -> ReportSection | None:
    """One table per family of systems that differ only in their vectors; None without such systems."""
    families = form_families(result)
    if not families:
        return None
    advice = result.recommendation
    finding = smallest_form_sentence(result, advice.system if advice else families[0].name)
    return ReportSection(
        "vectors",
        "Vector forms",
        finding,
        tuple(_table(result, family) for family in families),
        (BYTES, TESTED),
    )


def _table(result: Result, family: FormFamily) -> TextTable:
    prices = prices_of(result)
    costs = run_costs(result, prices) if prices else {}
    money = {system: one.million_queries.text for system, one in costs.items()}
    sizes: Mapping[str, int | None] = {
        row["system"]: row["index_bytes"] for row in result.systems.to_pylist()
    }
    margin = say.score(decision_rule(result).margin)
    headings = (
        family.name,
        "bytes",
        "rescored",
        result.record.primary,
        "loss",
        "at most",
        f"within {margin}",
    )
    priced = (f"{prices.currency} per 1M queries",) if prices else ()
    rows = [
        (
            *_quality(result, family, form),
            say.milliseconds(result.timing(form.system, "total", "p50_ms")),
            say.size(sizes[form.system]),
            *([money.get(form.system, say.ABSENT)] if prices else []),
        )
        for form in family.forms
    ]
    return TextTable((*headings, "p50", "index", *priced), tuple(rows))


def _quality(result: Result, family: FormFamily, form: MeasuredForm) -> tuple[str, ...]:
    summary = result.summaries(result.record.primary)[form.system]
    full = form.system == family.full
    loss = form.loss
    shown = "full" if full else "shown" if form.within else "not shown"
    return (
        form.system,
        say.whole(form.vector_bytes),
        f"× {form.rescore}" if form.rescore else say.ABSENT,
        say.score(summary.mean),
        say.ABSENT if loss is None else say.format_signed(loss.mean),
        say.ABSENT if loss is None else say.score(loss.bound),
        shown,
    )
