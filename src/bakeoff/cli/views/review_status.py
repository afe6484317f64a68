"""A review as it stands, what to judge next, how far reviewers agree, and its judgment set, on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bakeoff.cli import console
from bakeoff.cli.views.review_measures import (
    SHOWN,
    coefficient,
    ends,
    figures_json,
    interval,
    number,
    say_figures,
    say_sides,
)
from bakeoff.review.agreement_report import AgreementReport
from bakeoff.review.auto_vs_human import AutoVsHuman
from bakeoff.review.decision_model import PairBounds
from bakeoff.review.effort import estimate
from bakeoff.review.measures import pool_rankings, review_figures
from bakeoff.review.next import RankedItem, StoppingAdvice
from bakeoff.review.outcomes import OutcomeState, labels_of
from bakeoff.review.review_folder import ReviewState
from bakeoff.truth.human_judgments import JudgmentSet

WORDS = 60


def say_status(standing: ReviewState, beside: Sequence[AutoVsHuman], seed: int, folder: Path) -> None:
    """How far the review in a folder is."""
    pool, settled = standing.pool, standing.settled
    for note in standing.notes:
        console.warn(note)
    states = Counter(one.state for one in settled.values())
    done = sum(
        count
        for state, count in states.items()
        if state not in (OutcomeState.OPEN, OutcomeState.CANNOT, OutcomeState.CONFLICT)
    )
    console.print_line(f"{pool.run}: {done:,} of {len(pool.items):,} passages are decided")
    console.print_line(
        "  " + ", ".join(f"{states[state]:,} {state.value}" for state in OutcomeState if states[state])
    )
    if states[OutcomeState.OPEN]:
        left = estimate(states[OutcomeState.OPEN], standing.read.entries)
        console.print_line(f"  time for what is open: {left.sentence}")
    by = Counter(one.reviewer for item in settled.values() for one in item.opinions if not one.auto)
    if not by:
        _say_nobody(folder)
        return
    console.print_line("  " + ", ".join(f"{name} {count:,}" for name, count in by.most_common()))
    say_figures(review_figures(pool_rankings(pool), labels_of(settled), pool.k, seed))
    say_sides(beside)


def _say_nobody(folder: Path) -> None:
    """Before the first judgment by a person every measure is a guess as wide as it can be."""
    console.print_line(
        "Nobody has judged yet; measures and their bounds follow the first judgment (--json has them now)."
    )
    console.print_line(f"Next     bakeoff review serve {folder}")


def status_json(standing: ReviewState, beside: Sequence[AutoVsHuman], seed: int) -> dict[str, Any]:
    """The same for scripts."""
    pool = standing.pool
    figures = review_figures(pool_rankings(pool), labels_of(standing.settled), pool.k, seed)
    still = sum(one.state is OutcomeState.OPEN for one in standing.settled.values())
    left = estimate(still, standing.read.entries)
    return {
        "run": pool.run,
        "items": len(pool.items),
        "states": dict(Counter(one.state.value for one in standing.settled.values())),
        "open_seconds": [left.low_s, left.high_s],
        "figures": figures_json(figures),
        "sides": [asdict(one) for one in beside],
        "notes": list(standing.notes),
    }


def say_next(standing: ReviewState, outlook: StoppingAdvice, ranked: Sequence[RankedItem]) -> None:
    """Whether to go on, and with what."""
    for note in standing.notes:
        console.warn(note)
    ruled = len(standing.pool.items) - outlook.judged - outlook.open
    console.print_line(
        f"{outlook.judged:,} passages were judged by people, {ruled:,} filled in by rules, {outlook.open:,} are open",
        style="bold",
    )
    console.print_line(
        f"SemPrec@{standing.pool.k}, {outlook.leader} ahead so far; bounds over everything that is open:"
    )
    headers = ["difference", "lowest", "highest", "can still come out"]
    rows = [
        [f"{one.a} − {one.b}", number(one.low, signed=True), number(one.high, signed=True), _outcomes(one)]
        for one in outlook.bounds
    ]
    console.table(headers, rows, right=(1, 2))
    console.print_line(advice(outlook), style="bold")
    if outlook.stop or not ranked:
        return
    console.print_line()
    items = standing.pool.by_id()
    shown = [[one.item, one.query, " ".join(items[one.item].text.split())[:WORDS]] for one in ranked]
    console.table(["judge next", "query", "passage"], shown)


def advice(outlook: StoppingAdvice) -> str:
    """One sentence: stop, and why; or go on."""
    said = f"{outlook.decision} is best" if outlook.decision else "no system can be told to be the best"
    if outlook.open == 0:
        return f"Everything is judged: {said}."
    if outlook.certain:
        return f"Stop: {said}, whatever is said of the {outlook.open:,} open passages."
    if outlook.likely:
        return f"You may stop: {said} in {outlook.probability:.1%} of simulated completions. It is likely, not certain."
    return (
        f"Go on: {said} in {outlook.probability:.0%} of simulated completions. {outlook.relevant_open:,} of "
        f"{outlook.open:,} open passages can move the decision."
    )


def next_json(standing: ReviewState, outlook: StoppingAdvice, ranked: Sequence[RankedItem]) -> dict[str, Any]:
    """The same for scripts."""
    return {**asdict(outlook), "stop": outlook.stop, "advice": advice(outlook), "items": [asdict(o) for o in ranked],
            "notes": list(standing.notes)}  # fmt: skip


def _outcomes(pair: PairBounds) -> str:
    there = [(pair.can_a, pair.a), (pair.can_b, pair.b), (pair.can_neither, "neither")]
    return ", ".join(name for can, name in there if can)


def say_panel(found: AgreementReport, standing: ReviewState) -> None:
    """How far reviewers agree."""
    for note in standing.notes:
        console.warn(note)
    if len(found.reviewers) < 2:
        who = found.reviewers[0] if found.reviewers else "Nobody"
        console.print_line(
            f"{who} judged so far: agreement needs two reviewers of the same passages.", style="bold"
        )
    else:
        _say_coefficients(found)
    _say_rules(found)
    for one in found.self_agreement:
        console.print_line(f"{one.reviewer} said the same on {one.same} of {one.items} hidden repetitions")
    if found.queue:
        ids = ", ".join(one.item for one in found.queue[:SHOWN])
        console.print_line(f"{len(found.queue)} passages need a third opinion (import --adjudicate): {ids}")
    _say_swapped(found)


def _say_coefficients(found: AgreementReport) -> None:
    rows = [
        [group.name, coefficient(group.labels), coefficient(group.relevance), str(group.labels.items)]
        for group in (found.overall, *found.categories)
    ]
    console.table(
        ["Krippendorff's alpha", "judgments (nominal)", "grades (ordinal)", "n"], rows, right=(1, 2, 3)
    )
    console.print_line()
    pairs = [
        [
            f"{one.a} / {one.b}",
            number(one.same),
            coefficient(one.labels),
            coefficient(one.grades),
            str(one.labels.items),
        ]
        for one in found.pairs
    ]
    console.table(["Cohen's kappa", "same", "judgments", "grades (weighted)", "n"], pairs, right=(1, 2, 3, 4))


def _say_rules(found: AgreementReport) -> None:
    rows = [
        [one.rule, str(one.filled), str(one.looked_at), str(one.overruled), ends(one.low, one.high)]
        for one in found.rules
    ]
    if rows:
        console.print_line()
        console.table(
            ["rule", "filled in", "looked at", "overruled", "share, 95 %"], rows, right=(1, 2, 3, 4)
        )


def _say_swapped(found: AgreementReport) -> None:
    if len(found.swapped) < 2:
        return
    console.print_line()
    rows = [
        [
            one.reviewer,
            f"{one.pair.a} − {one.pair.b}",
            number(one.pair.difference, signed=True),
            interval(one.pair.interval),
            str(len(one.pair.queries)),
            one.says or "can't tell",
        ]
        for one in found.swapped
    ]
    console.table(["by alone", "SemPrec", "mean", "95 % interval", "n", "better"], rows, right=(2, 3, 4))
    if found.survives is None:
        console.print_line(
            "Too few queries are judged completely by two reviewers to swap them.", style="dim"
        )
    else:
        survives = (
            "The answer is the same whoever judged" if found.survives else "The answer hangs on who judged"
        )
        console.print_line(f"{survives}.", style="bold")


def panel_json(found: AgreementReport) -> dict[str, Any]:
    """The same for scripts."""
    data = asdict(found)
    data["queue"] = [one.item for one in found.queue]
    data["survives_swapping"] = found.survives
    return data


def say_set(made: JudgmentSet, standing: ReviewState, out: Path, as_json: bool) -> None:
    """What a judgment set holds."""
    left = len(standing.pool.items) - len(made.rows)
    if as_json:
        console.say_json(
            {
                "out": str(out),
                "fingerprint": made.fingerprint(),
                "judgments": len(made.rows),
                "queries": len(made.queries),
                "left_out": left,
            }
        )
        return
    for note in standing.notes:
        console.warn(note)
    console.print_line(f"{len(made.rows):,} judgments of {len(made.queries)} queries written to {out}")
    console.print_line(f"fingerprint {made.fingerprint()}")
    if left:
        console.print_line(f"{left:,} passages without a grade that holds are not in it", style="dim")
    console.print_line(f"Next     judgments: {out} in bakeoff.yaml, then: bakeoff run")
