"""The outcome of a gate in words: a sentence for the terminal, a summary for a pull request."""

from __future__ import annotations

from bakeoff.runs import markdown_tables
from bakeoff.runs.gate import GateResult, SystemCheck
from bakeoff.runtime.count_text import count, decimal, decimal_range


def sentence(gate: GateResult) -> str:
    """The outcome in one line."""
    bad = [check for check in gate.systems if not check.passed]
    what = f"{gate.measure} of {count(len(gate.systems), 'system')}"
    if not bad:
        return f"Passed: {what} lost at most {gate.rules.margin:g} (95 %, one-sided)."
    return f"Not passed: {len(bad)} of {len(gate.systems)}. " + " ".join(
        reason(check, gate) for check in bad[:3]
    )


def reason(check: SystemCheck, gate: GateResult) -> str:
    """Why a system did not pass."""
    regressed = [change for change in check.categories if change.regressed]
    if check.verdict == "no worse" and regressed:
        losses = ", ".join(f"{change.category} {_points(change.difference)}" for change in regressed)
        return f"{check.system} lost in {losses}."
    if check.verdict == "worse":
        return (
            f"{check.system} lost {_points(check.gain)} {_interval(check)}: more than {gate.rules.margin:g}."
        )
    if check.verdict == "inconclusive":
        needed = f"; about {check.needed} can" if check.needed and check.needed > check.n else ""
        return (
            f"Inconclusive: {check.system} changed by {_points(check.gain)} {_interval(check)}; "
            f"{check.n} questions can't rule out a loss of {gate.rules.margin:g}{needed}."
        )
    return f"{check.system}: {check.verdict}."


def summary(gate: GateResult) -> str:
    """Markdown for a pull request."""
    mark = "✅" if gate.passed else "❌"
    lines = [
        f"### {mark} bakeoff gate: {gate.measure}, margin {gate.rules.margin:g}",
        "",
        markdown_tables.escape_markdown(sentence(gate)),
        "",
        *markdown_tables.table(*table(gate)),
        *_categories(gate),
        *markdown_tables.bullets(gate.notes),
        "",
        f"Baseline {markdown_tables.escape_markdown(gate.baseline)}, "
        f"new run {markdown_tables.escape_markdown(gate.candidate)}.",
    ]
    return "\n".join(lines) + "\n"


def table(gate: GateResult) -> tuple[list[str], list[list[str]]]:
    """Headers and rows, one per system."""
    headers = ["system", "before", "after", "change", "90 % interval", "questions", ""]
    return headers, [_cells(check) for check in gate.systems]


def _cells(one: SystemCheck) -> list[str]:
    outcome = one.verdict if one.passed or one.verdict != "no worse" else "worse in a category"
    numbers = [decimal(one.before, 4), decimal(one.after, 4), _points(one.gain), _interval(one), str(one.n)]
    return [one.system, *numbers, outcome]


def _categories(gate: GateResult) -> list[str]:
    rows = [
        [check.system, change.category, str(change.n), _points(change.difference), f"{change.p:.3f}"]
        for check in gate.systems
        for change in check.categories
        if change.regressed
    ]
    return (
        ["", *markdown_tables.table(["system", "category", "questions", "change", "p (Holm)"], rows, left=2)]
        if rows
        else []
    )


def _points(value: float | None) -> str:
    return decimal(value, 4, "+").replace("-", "−")


def _interval(one: SystemCheck) -> str:
    return decimal_range(one.lowest, one.highest, 4, "+").replace("-", "−")
