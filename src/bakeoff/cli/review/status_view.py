"""The commands on a review's state, on the terminal and as JSON: status, next, agreement, judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bakeoff.cli import console
from bakeoff.cli.review.measures_view import (
    SHOWN,
    coefficient,
    figures_json,
    print_figures,
    print_sides,
)
from bakeoff.review.agreement_report import AgreementReport
from bakeoff.review.auto_vs_human import AutoVsHuman
from bakeoff.review.decision_model import PairBounds
from bakeoff.review.effort import estimate
from bakeoff.review.measures import pool_rankings, review_figures
from bakeoff.review.next import RankedItem, StoppingAdvice
from bakeoff.review.outcomes import OutcomeState, labels_of
from bakeoff.review.review_folder import ReviewState
from bakeoff.runtime.count_text import count, decimal, decimal_range
from bakeoff.truth.human_judgments import JudgmentSet

WORDS = 60


def print_status(review: ReviewState, sides: Sequence[AutoVsHuman], seed: int, folder: Path) -> None:
    """Print the progress of the review in a folder."""
    pool, settled = review.pool, review.settled
    for note in review.notes:
        console.warn(note)
    states = Counter(outcome.state for outcome in settled.values())
    decided = (OutcomeState.AGREED, OutcomeState.ADJUDICATED)
    done = sum(settled[item.id].state in decided for item in pool.open)
    console.print_line(f"{pool.run}: {pool.summary}")
    console.print_line(f"  {done:,} of {len(pool.open):,} judged")
    console.print_line(
        "  " + ", ".join(f"{states[state]:,} {state.value}" for state in OutcomeState if states[state])
    )
    if states[OutcomeState.OPEN]:
        left = estimate(states[OutcomeState.OPEN], review.read.entries)
        console.print_line(f"  time left: {left.sentence}")
    counts_by_reviewer = Counter(
        vote.reviewer for item in settled.values() for vote in item.opinions if not vote.auto
    )
    if not counts_by_reviewer:
        _print_nobody(folder)
        return
    console.print_line(
        "  " + ", ".join(f"{name} {number:,}" for name, number in counts_by_reviewer.most_common())
    )
    print_figures(review_figures(pool_rankings(pool), labels_of(settled), pool.k, seed))
    print_sides(sides)


def _print_nobody(folder: Path) -> None:
    """Print the next step before the first human judgment, when measures have only the widest bounds."""
    console.print_line("No human judgments yet: measures appear after the first one (--json has the bounds).")
    console.print_line(f"Next     bakeoff review serve {folder}")


def status_json(review: ReviewState, sides: Sequence[AutoVsHuman], seed: int) -> dict[str, object]:
    """The same as JSON."""
    pool = review.pool
    figures = review_figures(pool_rankings(pool), labels_of(review.settled), pool.k, seed)
    still = sum(outcome.state is OutcomeState.OPEN for outcome in review.settled.values())
    left = estimate(still, review.read.entries)
    return {
        "run": pool.run,
        "items": len(pool.items),
        "states": dict(Counter(outcome.state.value for outcome in review.settled.values())),
        "open_seconds": [left.low_s, left.high_s],
        "figures": figures_json(figures),
        "sides": [asdict(side) for side in sides],
        "notes": list(review.notes),
    }


def print_next(review: ReviewState, outlook: StoppingAdvice, ranked: Sequence[RankedItem]) -> None:
    """Print whether to keep judging, and which passages."""
    for note in review.notes:
        console.warn(note)
    ruled = len(review.pool.items) - outlook.judged - outlook.open
    console.print_line(
        f"{outlook.judged:,} passages judged by people, {ruled:,} filled in by rules, {outlook.open:,} open",
        style="bold",
    )
    console.print_line(
        f"SemPrec@{review.pool.k}: {outlook.leader} leads so far; bounds over all open passages:"
    )
    headers = ["difference", "lowest", "highest", "possible winners"]
    rows = [
        [f"{bound.a} − {bound.b}", decimal(bound.low, 3, "+"), decimal(bound.high, 3, "+"), _outcomes(bound)]
        for bound in outlook.bounds
    ]
    console.table(headers, rows, right=(1, 2))
    console.print_line(advice(outlook), style="bold")
    if outlook.stop or not ranked:
        return
    console.print_line()
    items = review.pool.by_id()
    shown = [[item.item, item.query, " ".join(items[item.item].text.split())[:WORDS]] for item in ranked]
    console.table(["judge next", "question", "passage"], shown)


def advice(outlook: StoppingAdvice) -> str:
    """One sentence: stop, and why; or keep judging."""
    outcome = f"{outlook.decision} is best" if outlook.decision else "no system is shown to be best"
    if outlook.open == 0:
        return f"Everything is judged: {outcome}."
    if outlook.certain:
        return f"Stop: {outcome}, whatever the {outlook.open:,} open passages turn out to be."
    if outlook.likely:
        return f"You can stop: {outcome} in {outlook.probability:.1%} of simulations. Likely, not certain."
    return (
        f"Keep judging: the winner is still open ({outcome} in {outlook.probability:.0%} of simulations). "
        f"{outlook.relevant_open:,} of {outlook.open:,} open passages can change the decision."
    )


def next_json(
    review: ReviewState, outlook: StoppingAdvice, ranked: Sequence[RankedItem]
) -> dict[str, object]:
    """The same as JSON."""
    return {**asdict(outlook), "stop": outlook.stop, "advice": advice(outlook), "items": [asdict(o) for o in ranked],
            "notes": list(review.notes)}  # fmt: skip


def _outcomes(pair: PairBounds) -> str:
    there = [(pair.can_a, pair.a), (pair.can_b, pair.b), (pair.can_neither, "neither")]
    return ", ".join(name for can, name in there if can)


def print_panel(report: AgreementReport, review: ReviewState) -> None:
    """Print how well reviewers agree."""
    for note in review.notes:
        console.warn(note)
    if len(report.reviewers) < 2:
        who = report.reviewers[0] if report.reviewers else "Nobody"
        console.print_line(
            f"{who} has judged so far: agreement needs two reviewers of the same passages.", style="bold"
        )
    else:
        _print_coefficients(report)
    _print_rules(report)
    for repeat in report.self_agreement:
        console.print_line(
            f"{repeat.reviewer} gave the same answer on {repeat.same} of {repeat.items} hidden repeats"
        )
    if report.queue:
        ids = ", ".join(item.item for item in report.queue[:SHOWN])
        need = "1 passage needs" if len(report.queue) == 1 else f"{len(report.queue)} passages need"
        console.print_line(f"{need} a third opinion (import --adjudicate): {ids}")
    _print_swapped(report)


def _print_coefficients(report: AgreementReport) -> None:
    rows = [
        [group.name, coefficient(group.labels), coefficient(group.relevance), str(group.labels.items)]
        for group in (report.overall, *report.categories)
    ]
    console.table(
        ["Krippendorff's alpha", "judgments (nominal)", "grades (ordinal)", "n"], rows, right=(1, 2, 3)
    )
    console.print_line()
    pairs = [
        [
            f"{pair.a} / {pair.b}",
            decimal(pair.same, 3),
            coefficient(pair.labels),
            coefficient(pair.grades),
            str(pair.labels.items),
        ]
        for pair in report.pairs
    ]
    console.table(["Cohen's kappa", "same", "judgments", "grades (weighted)", "n"], pairs, right=(1, 2, 3, 4))


def _print_rules(report: AgreementReport) -> None:
    rows = [
        [
            rule.rule,
            str(rule.filled),
            str(rule.looked_at),
            str(rule.overruled),
            decimal_range(rule.low, rule.high, 3),
        ]
        for rule in report.rules
    ]
    if rows:
        console.print_line()
        console.table(["rule", "filled in", "checked", "overruled", "share, 95 %"], rows, right=(1, 2, 3, 4))


def _print_swapped(report: AgreementReport) -> None:
    if len(report.swapped) < 2:
        return
    console.print_line()
    rows = [
        [
            outcome.reviewer,
            f"{outcome.pair.a} − {outcome.pair.b}",
            decimal(outcome.pair.difference, 3, "+"),
            decimal_range(outcome.pair.interval.low, outcome.pair.interval.high, 3, "+"),
            str(len(outcome.pair.queries)),
            outcome.says or "tied",
        ]
        for outcome in report.swapped
    ]
    console.table(
        ["reviewer alone", "SemPrec", "mean", "95 % interval", "n", "better"], rows, right=(2, 3, 4)
    )
    if report.survives is None:
        console.print_line(
            "Two reviewers have completely judged too few of the same questions to compare them.", style="dim"
        )
    else:
        survives = (
            "The result does not depend on the reviewer"
            if report.survives
            else "The result depends on the reviewer"
        )
        console.print_line(f"{survives}.", style="bold")


def panel_json(report: AgreementReport) -> dict[str, object]:
    """The same as JSON."""
    data = asdict(report)
    data["queue"] = [item.item for item in report.queue]
    data["survives_swapping"] = report.survives
    return data


def print_set(final: JudgmentSet, review: ReviewState, out: Path) -> None:
    """Print what a judgment set holds."""
    left = len(review.pool.items) - len(final.rows)
    console.print_json(
        {
            "out": out,
            "fingerprint": final.fingerprint(),
            "judgments": len(final.rows),
            "queries": len(final.queries),
            "left_out": left,
        }
    )
    for note in review.notes:
        console.warn(note)
    questions = count(len(final.queries), "question")
    console.print_line(f"{count(len(final.rows), 'judgment')} of {questions} written to {out}")
    console.print_line(f"fingerprint {final.fingerprint()}")
    if left:
        console.print_line(f"{count(left, 'passage')} without a final grade left out", style="dim")
    console.print_line(f"Next     judgments: {out} in bakeoff.yaml, then: bakeoff run")
