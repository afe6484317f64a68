"""Recommendations in simulations with known truth: how often is the recommended system truly worse?

Run with: python benchmarks/stats_worlds.py [ROUNDS]. It prints the table of docs/statistics.md (60 rounds): what the
verdict declares, and what the line on the screen names where it says "Take" and where it says "Start with". Truly worse
is worse by more than the margin. The seeds are others than those on which the rules were chosen (0 to 299).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from bakeoff.stats import interaction
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import CostLimits, Costs, Evidence
from bakeoff.stats.interaction import CategoryDifference, interactions
from bakeoff.stats.recommendation import Decision, Strength, choose_system, find_regrets
from bakeoff.stats.verdict import RULES, Verdict, VerdictKind, decide
from bakeoff.stats.verdict_input import VerdictInput
from common import Row, show

SIZES = (5, 10, 20, 50, 200)
ROUNDS, RESAMPLES, MARGIN = 100, 300, 0.02
FIRST_SEED = 10_000
NAMES = ("a", "b", "c")
MILLISECONDS = (30.0, 20.0, 1.0)
"""The last system of every world is the cheapest."""

NO_LIMITS = CostLimits()

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class World:
    """Scores of systems × queries given the category (0 or 1) of each query, and what is true of them.

    `truth` has each system's true mean in each category. `lift` draws the scores of semantic lift.
    """

    name: str
    draw: Draw
    truth: tuple[tuple[float, float], ...]
    limits: CostLimits = NO_LIMITS
    lift: Draw | None = None
    clusters: int = 1
    milliseconds: tuple[float, ...] = MILLISECONDS

    @property
    def means(self) -> list[float]:
        """True means, both categories being equally frequent."""
        return [sum(both) / 2 for both in self.truth]


def hits(*rates: float) -> Draw:
    """Independent hits and misses."""
    return lambda rng, kinds: (rng.random((len(rates), len(kinds))) < np.array(rates)[:, None]).astype(float)


def graded(*shifts: float, noise: float = 0.15) -> Draw:
    """Graded scores around a difficulty that the systems share; inside 0 to 1, so that means are exact."""

    def draw(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
        base = rng.uniform(0.4, 0.6, len(kinds))
        spread = rng.uniform(-noise, noise, (len(shifts), len(kinds)))
        return base + np.array(shifts)[:, None] + spread

    return draw


def crossed(gain: float) -> Draw:
    """The first system is better on one category, the second on the other; the third is worse on both."""

    def draw(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
        values = graded(0.0, 0.0, -0.05)(rng, kinds)
        values[0] += np.where(kinds == 0, gain, -gain)
        return values

    return draw


def same_but_for(share: float, loss: float) -> Draw:
    """The same scores on nearly all queries; the cheapest system loses on a share of them."""

    def draw(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
        base = np.tile(rng.uniform(0.5, 0.9, len(kinds)), (3, 1))
        base[2] -= np.where(rng.random(len(kinds)) < share, loss, 0.0)
        return base

    return draw


def rarely_ruined(share: float, gain: float, loss: float) -> Draw:
    """The cheapest system is a little better on nearly every query, and much worse on a few that decide everything."""

    def draw(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
        values = np.tile(rng.uniform(0.66, 0.94, len(kinds)), (3, 1)) + rng.uniform(
            -0.01, 0.01, (3, len(kinds))
        )
        values[2] += np.where(rng.random(len(kinds)) < share, -loss, gain)
        return values

    return draw


def rarely_ruined_category(share: float, gain: float, loss: float) -> Draw:
    """The first two systems are a little better on one category each, and the first is ruined on a share of its own."""

    def draw(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
        values = np.tile(rng.uniform(0.75, 0.9, len(kinds)), (3, 1)) + rng.uniform(
            -0.01, 0.01, (3, len(kinds))
        )
        values[0] += np.where(kinds == 0, gain, -gain)
        values[0] -= np.where((kinds == 0) & (rng.random(len(kinds)) < share), loss, 0.0)
        values[2] -= 0.05
        return values

    return draw


def by_document(*shifts: float) -> Draw:
    """Graded scores with five queries a document, which moves all five for one system."""

    def draw(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
        documents = rng.uniform(-0.2, 0.2, (len(shifts), len(kinds) // 5 + 1))
        return graded(*shifts, noise=0.1)(rng, kinds) * 0.6 + 0.2 + documents[:, np.arange(len(kinds)) // 5]

    return draw


def level(*means: float) -> tuple[tuple[float, float], ...]:
    """True means that do not depend on the category."""
    return tuple((mean, mean) for mean in means)


WORLDS = (
    World("hits .98 .98 .90, the worst the cheapest", hits(0.98, 0.98, 0.90), level(0.98, 0.98, 0.90)),
    World("hits .99 .99 .95, the worst the cheapest", hits(0.99, 0.99, 0.95), level(0.99, 0.99, 0.95)),
    World("hits .80 .80 .76, the worst the cheapest", hits(0.80, 0.80, 0.76), level(0.80, 0.80, 0.76)),
    World("graded, the cheapest worse by .03", graded(0.0, 0.0, -0.03), level(0.5, 0.5, 0.47)),
    World("graded, one clearly best", graded(0.15, 0.0, -0.03), level(0.65, 0.5, 0.47)),
    World("all equal, costs differ", graded(0.0, 0.0, 0.0, noise=0.02), level(0.5, 0.5, 0.5)),
    World("all equal, no costs", graded(0.0, 0.0, 0.0, noise=0.02), level(0.5, 0.5, 0.5), milliseconds=()),
    World(
        "the same but for 3 % of queries, where the cheapest loses .5",
        same_but_for(0.03, 0.5),
        level(0.7, 0.7, 0.685),
    ),
    World(
        "the same but for 4.2 % of queries, where the cheapest loses .5",
        same_but_for(0.042, 0.5),
        level(0.7, 0.7, 0.679),
    ),
    World(
        "the same but for 6 % of queries, where the cheapest loses .5",
        same_but_for(0.06, 0.5),
        level(0.7, 0.7, 0.67),
    ),
    World(
        "categories cross",
        crossed(0.15),
        ((0.65, 0.35), (0.5, 0.5), (0.45, 0.45)),
    ),
    World(
        "five queries a document, the cheapest worse by .04",
        by_document(0.0, 0.0, -0.07),
        level(0.5, 0.5, 0.458),
        clusters=5,
    ),
    World(
        "a limit leaves two",
        graded(0.10, 0.0, -0.03),
        level(0.6, 0.5, 0.47),
        CostLimits(p95_ms=25),
    ),
    World("a limit leaves one", graded(0.10, 0.0, -0.03), level(0.6, 0.5, 0.47), CostLimits(p95_ms=5)),
    World("a limit leaves none", graded(0.10, 0.0, -0.03), level(0.6, 0.5, 0.47), CostLimits(p95_ms=0.5)),
    World(
        "lift prefers the system that is worse by .04",
        graded(0.0, 0.0, -0.04),
        level(0.5, 0.5, 0.46),
        lift=graded(0.0, 0.0, 0.2),
    ),
    World(
        "lift prefers the system that is slightly better",
        graded(0.0, 0.0, 0.012, noise=0.1),
        level(0.5, 0.5, 0.512),
        lift=graded(0.0, 0.0, 0.2),
        milliseconds=(),
    ),
)
RARE = (
    World(
        "better by .01 on 95 % of queries, worse by .62 on 5 %",
        rarely_ruined(0.05, 0.01, 0.62),
        level(0.8, 0.8, 0.7785),
    ),
    World(
        "better by .02 on 94 % of queries, worse by .65 on 6 %",
        rarely_ruined(0.06, 0.02, 0.65),
        level(0.8, 0.8, 0.7798),
    ),
    World(
        "categories cross by .03, but for 10 % of one, worse by .6",
        rarely_ruined_category(0.1, 0.03, 0.6),
        ((0.795, 0.795), (0.825, 0.825), (0.775, 0.775)),
    ),
)
"""Worlds in which a few queries decide everything and small samples often hold none of them."""


@dataclass(slots=True)
class Tally:
    """How often in one world at one size a system was recommended, and how often a truly worse one.

    `declared` is what the verdict recommends, `take` and `start` are lines on the screen, by their first word.
    """

    declared: list[bool] = field(default_factory=list)
    take: list[bool] = field(default_factory=list)
    start: list[bool] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)


def evidence_of(world: World, n: int, seed: int, resamples: int = RESAMPLES) -> Evidence:
    """The evidence of one sample of n queries."""
    rng = np.random.default_rng([seed, n, len(world.name)])
    kinds = rng.permutation(np.arange(n) % 2)
    labels = tuple(f"k{kind}" for kind in kinds)
    queries = tuple(f"q{i:04d}" for i in range(n))
    clusters = tuple(f"d{i // world.clusters}" for i in range(n)) if world.clusters > 1 else ()

    def compared(draw: Draw, measure: str) -> ScoreMatrix:
        return ScoreMatrix(NAMES, queries, draw(rng, kinds), measure, categories=labels, clusters=clusters)

    matrix = compared(world.draw, "score")
    comparison = compare(matrix, seed, resamples=resamples)
    rivals = [system for system in comparison.indistinguishable_from_best if system != comparison.best]
    crossing = (
        interactions(matrix, comparison.ranking[0], rivals, BootstrapSettings(seed, resamples))
        if rivals
        else ()
    )
    lift = compare(compared(world.lift, "lift"), seed, resamples=resamples) if world.lift else None
    costs = {
        name: Costs(p95_ms=value, p50_ms=value, p50_between=(0.9 * value, 1.1 * value))
        for name, value in zip(NAMES, world.milliseconds, strict=False)
    }
    found = Evidence(comparison, crossing, lift, costs, world.limits)
    return replace(found, regrets=find_regrets(matrix, found, seed))


def loses(world: World, systems: Iterable[str]) -> bool:
    """Whether one of some systems is truly worse than an eligible one by more than the margin."""
    limit = world.limits.p95_ms or float("inf")
    within = [i for i, cost in enumerate(world.milliseconds or (0.0,) * 3) if cost <= limit]
    best = max((world.means[i] for i in within), default=0.0)
    return any(best - world.means[NAMES.index(system)] > MARGIN + 1e-9 for system in systems)


def loses_category(world: World, system: str, other: str, found: Iterable[CategoryDifference]) -> bool:
    """Whether a system is truly worse than another by more than the margin in one of some categories."""
    own, rival = (world.truth[NAMES.index(name)] for name in (system, other))
    return any(rival[int(one.category[1])] - own[int(one.category[1])] > MARGIN for one in found)


def is_wrong(world: World, verdict: Verdict, evidence: Evidence) -> bool:
    """Whether a verdict recommends a truly worse system; one by category recommends a system for each it names."""
    if verdict.kind is not VerdictKind.DEPENDS_ON_CATEGORY:
        return loses(world, verdict.recommended)
    crossing = VerdictInput.of(evidence).crossing_interaction
    assert crossing is not None
    a, b = crossing.a, crossing.b
    return loses_category(world, a, b, crossing.for_a) or loses_category(world, b, a, crossing.for_b)


def line_is_wrong(world: World, decision: Decision) -> bool:
    """Whether the line names a truly worse system, for all questions or for a category."""
    crossing = decision.case.crossing_interaction if decision.case.eligible else None
    if crossing is None or decision.system not in (crossing.a, crossing.b):
        return loses(world, [decision.system])
    first = decision.system == crossing.a
    other, found = (crossing.b, crossing.for_b) if first else (crossing.a, crossing.for_a)
    return loses(world, [decision.system]) or loses_category(world, other, decision.system, found)


def tally(world: World, n: int, rounds: int, resamples: int = RESAMPLES) -> Tally:
    """Many samples of one world."""
    found = Tally()
    for seed in range(FIRST_SEED, FIRST_SEED + rounds):
        evidence = evidence_of(world, n, seed, resamples)
        verdict = decide(evidence)
        if verdict.system is not None or verdict.kind is VerdictKind.DEPENDS_ON_CATEGORY:
            found.declared.append(is_wrong(world, verdict, evidence))
        decision = choose_system(evidence, verdict)
        lines = found.take if decision.strength is Strength.TAKE else found.start
        lines.append(line_is_wrong(world, decision))
        found.rules[verdict.rule] += 1
        assert verdict.kind is not VerdictKind.USE or verdict.recommended == (verdict.system,)
    return found


def shuffle_less() -> None:
    """Shuffle categories 2,000 times instead of 10,000."""
    interaction.PERMUTATIONS = 2_000


def tally_numbered(world: int, n: int, rounds: int) -> Tally:
    """The tally of a world by its number: its draw can't be sent to a process."""
    return tally((*WORLDS, *RARE)[world], n, rounds)


def main() -> int:
    """Print the table of worlds, the rules that decided, and the rows."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    worlds = (*WORLDS, *RARE)
    print('Truly worse of all lines that say "Take" and of all that say "Start with", percent of rounds')
    print("| world | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    found: dict[int, list[Tally]] = {n: [] for n in SIZES}
    with ProcessPoolExecutor(initializer=shuffle_less) as pool:
        tasks = [
            [pool.submit(tally_numbered, number, n, rounds) for n in SIZES] for number in range(len(worlds))
        ]
        for world, row in zip(worlds, tasks, strict=True):
            cells = [task.result() for task in row]
            for n, one in zip(SIZES, cells, strict=True):
                found[n].append(one)
            print(
                f"| {world.name} | " + " | ".join(describe(one, rounds) for one in cells) + " |", flush=True
            )
    rules = sum((one.rules for tallies in found.values() for one in tallies), Counter[str]())
    print("\nrules that decided: " + ", ".join(f"{name} {count:,}" for name, count in rules.most_common()))
    missing = {rule.name for rule in RULES} - set(rules) - {"no-queries", "one-system"}
    return show(
        [*rows_of(found, rounds), Row("rules of the table that no world reached", len(missing), 1.0, "<= 0")]
    )


def describe(one: Tally, rounds: int) -> str:
    """Truly worse of the lines of each strength, in percent of the rounds."""
    return "; ".join(
        f"{100 * sum(lines) / rounds:.0f} of {100 * len(lines) / rounds:.0f}"
        for lines in (one.take, one.start)
    )


def rows_of(found: dict[int, list[Tally]], rounds: int) -> Iterator[Row]:
    """For each size the worst world of each kind of recommendation, and how common a firm line is."""
    kinds = {
        "declared": "verdict recommends a truly worse system",
        "take": 'line says "Take" of a truly worse system',
        "start": 'line says "Start with" of a truly worse system',
    }
    for kind, what in kinds.items():
        for n, tallies in found.items():
            worst = max(sum(getattr(one, kind)) for one in tallies) / rounds
            name = f"{what}, worst of {len(tallies)} worlds, {rounds} rounds, n={n}"
            yield Row(name, worst, 0.05, "" if kind == "start" else "<= 1")
    for n, tallies in found.items():
        share = sum(len(one.take) for one in tallies) / (rounds * len(tallies))
        yield Row(f'share of lines that say "Take", {len(tallies)} worlds, n={n}', share, 1.0)


if __name__ == "__main__":
    raise SystemExit(main())
