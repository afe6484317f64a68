"""A review as it stands, what to judge next, how far reviewers agree, and its judgment set, on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bakeoff.cli import console
from bakeoff.cli.reviewfigures import (
    SHOWN,
    coefficient,
    ends,
    figures_json,
    interval,
    number,
    say_figures,
    say_sides,
)
from bakeoff.review.desk import Standing
from bakeoff.review.effort import estimate
from bakeoff.review.measures import pool_rankings, review_figures
from bakeoff.review.next import Outlook, Ranked
from bakeoff.review.panel import Panel
from bakeoff.review.settle import State, labels_of
from bakeoff.review.sides import Side
from bakeoff.review.stakes import PairBounds
from bakeoff.truth.reviewed import JudgmentSet

WORDS = 60


def say_status(standing: Standing, beside: Sequence[Side], seed: int, folder: Path) -> None:
    """How far the review in a folder is."""
    pool, settled = standing.pool, standing.settled
    for note in standing.notes:
        console.warn(note)
    states = Counter(one.state for one in settled.values())
    done = sum(
        count for state, count in states.items() if state not in (State.OPEN, State.CANNOT, State.CONFLICT)
    )
    console.say(f"{pool.run}: {done:,} of {len(pool.items):,} passages are decided")
    console.say("  " + ", ".join(f"{states[state]:,} {state.value}" for state in State if states[state]))
    if states[State.OPEN]:
        left = estimate(states[State.OPEN], standing.read.entries)
        console.say(f"  time for what is open: {left.sentence}")
    by = Counter(one.reviewer for item in settled.values() for one in item.opinions if not one.auto)
    if not by:
        _say_nobody(folder)
        return
    console.say("  " + ", ".join(f"{name} {count:,}" for name, count in by.most_common()))
    say_figures(review_figures(pool_rankings(pool), labels_of(settled), pool.k, seed))
    say_sides(beside)


def _say_nobody(folder: Path) -> None:
    """Before the first judgment by a person every measure is a guess as wide as it can be."""
    console.say(
        "Nobody has judged yet; measures and their bounds follow the first judgment (--json has them now)."
    )
    console.say(f"Next     bakeoff review serve {folder}")


def status_json(standing: Standing, beside: Sequence[Side], seed: int) -> dict[str, Any]:
    """The same for scripts."""
    pool = standing.pool
    figures = review_figures(pool_rankings(pool), labels_of(standing.settled), pool.k, seed)
    still = sum(one.state is State.OPEN for one in standing.settled.values())
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


def say_next(standing: Standing, outlook: Outlook, ranked: Sequence[Ranked]) -> None:
    """Whether to go on, and with what."""
    for note in standing.notes:
        console.warn(note)
    ruled = len(standing.pool.items) - outlook.judged - outlook.open
    console.say(
        f"{outlook.judged:,} passages were judged by people, {ruled:,} filled in by rules, {outlook.open:,} are open",
        style="bold",
    )
    console.say(
        f"SemPrec@{standing.pool.k}, {outlook.leader} ahead so far; bounds over everything that is open:"
    )
    headers = ["difference", "lowest", "highest", "can still come out"]
    rows = [
        [f"{one.a} − {one.b}", number(one.low, signed=True), number(one.high, signed=True), _outcomes(one)]
        for one in outlook.bounds
    ]
    console.table(headers, rows, right=(1, 2))
    console.say(advice(outlook), style="bold")
    if outlook.stop or not ranked:
        return
    console.say()
    items = standing.pool.by_id()
    shown = [[one.item, one.query, " ".join(items[one.item].text.split())[:WORDS]] for one in ranked]
    console.table(["judge next", "query", "passage"], shown)


def advice(outlook: Outlook) -> str:
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


def next_json(standing: Standing, outlook: Outlook, ranked: Sequence[Ranked]) -> dict[str, Any]:
    """The same for scripts."""
    return {**asdict(outlook), "stop": outlook.stop, "advice": advice(outlook), "items": [asdict(o) for o in ranked],
            "notes": list(standing.notes)}  # fmt: skip


def _outcomes(pair: PairBounds) -> str:
    there = [(pair.can_a, pair.a), (pair.can_b, pair.b), (pair.can_neither, "neither")]
    return ", ".join(name for can, name in there if can)


def say_panel(found: Panel, standing: Standing) -> None:
    """How far reviewers agree."""
    for note in standing.notes:
        console.warn(note)
    if len(found.reviewers) < 2:
        who = found.reviewers[0] if found.reviewers else "Nobody"
        console.say(f"{who} judged so far: agreement needs two reviewers of the same passages.", style="bold")
    else:
        _say_coefficients(found)
    _say_rules(found)
    for one in found.self_agreement:
        console.say(f"{one.reviewer} said the same on {one.same} of {one.items} hidden repetitions")
    if found.queue:
        ids = ", ".join(one.item for one in found.queue[:SHOWN])
        console.say(f"{len(found.queue)} passages need a third opinion (import --adjudicate): {ids}")
    _say_swapped(found)


def _say_coefficients(found: Panel) -> None:
    rows = [
        [group.name, coefficient(group.labels), coefficient(group.relevance), str(group.labels.items)]
        for group in (found.overall, *found.categories)
    ]
    console.table(
        ["Krippendorff's alpha", "judgments (nominal)", "grades (ordinal)", "n"], rows, right=(1, 2, 3)
    )
    console.say()
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


def _say_rules(found: Panel) -> None:
    rows = [
        [one.rule, str(one.filled), str(one.looked_at), str(one.overruled), ends(one.low, one.high)]
        for one in found.rules
    ]
    if rows:
        console.say()
        console.table(
            ["rule", "filled in", "looked at", "overruled", "share, 95 %"], rows, right=(1, 2, 3, 4)
        )


def _say_swapped(found: Panel) -> None:
    if len(found.swapped) < 2:
        return
    console.say()
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
        console.say("Too few queries are judged completely by two reviewers to swap them.", style="dim")
    else:
        survives = (
            "The answer is the same whoever judged" if found.survives else "The answer hangs on who judged"
        )
        console.say(f"{survives}.", style="bold")


def panel_json(found: Panel) -> dict[str, Any]:
    """The same for scripts."""
    data = asdict(found)
    data["queue"] = [one.item for one in found.queue]
    data["survives_swapping"] = found.survives
    return data


def say_set(made: JudgmentSet, standing: Standing, out: Path, as_json: bool) -> None:
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
    console.say(f"{len(made.rows):,} judgments of {len(made.queries)} queries written to {out}")
    console.say(f"fingerprint {made.fingerprint()}")
    if left:
        console.say(f"{left:,} passages without a grade that holds are not in it", style="dim")
    console.say(f"Next     judgments: {out} in bakeoff.yaml, then: bakeoff run")
