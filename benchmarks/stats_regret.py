"""The promised and the actual loss of following the recommendation, in simulations with known truth.

Run with: python benchmarks/stats_regret.py [ROUNDS]. First: how often does the bound printed for the recommended system
cover its true loss? Then: what does following the recommendation lose against taking the highest mean, and how often is
a system taken that is truly worse by more than the margin? The last system of every world is the cheapest, the first
the best and the dearest.

A recommended system that truly is the best loses nothing, and any bound covers that. So one shape of each world is made
as hard as the bound allows: one system is better by as much as the bound adds to the lead, so that whenever chance
hides the lead, a worse system is recommended and its bound is just too small. The hardest of these has a best system
that never fails; stats_regret_exact.py computes its coverage without simulation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, norm

from bakeoff.stats import regret
from bakeoff.stats.comparison import Comparison, ScoreMatrix, SystemSummary
from bakeoff.stats.evidence import Costs, Evidence
from bakeoff.stats.intervals import Interval
from bakeoff.stats.preferences import DEFAULT_RULE
from bakeoff.stats.recommendation import Decision, Strength, choose_system
from bakeoff.stats.regret import regrets
from bakeoff.stats.verdict import Verdict, VerdictKind
from common import Row, show

SIZES, SYSTEMS = (10, 22, 50, 200), (2, 8, 50)
ROUNDS, FIRST_SEED = 200, 20_000
ALPHA = 0.05
AGAIN = 10
"""How many times as many rounds the hardest world of each size gets."""
MARGIN = DEFAULT_RULE.margin
EQUAL, HIDDEN = "all equal", "one best, hidden by chance"
NEVER_FAILS = "the best never fails"
HARDEST = {2: 1.03, 8: 1.0, 50: 0.95}
"""Gap of the hardest such world over Bonferroni's bound, by number of systems, found by trial with other seeds.

A bound of 1,000 draws varies by 3 %, and that of many systems, whose levels are joint, is a little smaller.
"""

Draw = Callable[[np.random.Generator, int, np.ndarray], np.ndarray]


def hits(level: float) -> Draw:
    """Hits and misses around a level."""
    return lambda rng, n, gaps: (rng.random((len(gaps), n)) < (level - gaps)[:, None]).astype(float)


def graded(rng: np.random.Generator, n: int, gaps: np.ndarray) -> np.ndarray:
    """Graded scores around a difficulty that the systems share; inside 0 to 1, so that means are exact."""
    return rng.uniform(0.7, 0.8, n) + rng.uniform(-0.2, 0.2, (len(gaps), n)) - gaps[:, None]


def rarely_ruined(rng: np.random.Generator, n: int, gaps: np.ndarray) -> np.ndarray:
    """The same scores, but for one query in twenty, where a system loses what makes its gap."""
    ruined = rng.random((len(gaps), n)) < 0.05
    return (
        rng.uniform(0.85, 0.95, n) + rng.uniform(-0.01, 0.01, (len(gaps), n)) - ruined * gaps[:, None] / 0.05
    )


@dataclass(frozen=True, slots=True)
class World:
    """How scores are drawn, a gap, the largest one that keeps them inside 0 to 1, and the spread of a difference.

    A spread of 0 means that the best system never fails, so that only systems without any failure tie with it.
    """

    draw: Draw
    gap: float
    largest: float
    spread: float

    def hidden_gap(self, count: int, n: int) -> float:
        """About the margin and what the bound adds to a lead: the unseen query, and the joint quantile of the rest."""
        level = ALPHA / (count - 1)
        if not self.spread:
            return HARDEST[count] * (1 - level ** (1 / n))
        return min(self.largest, MARGIN + 1 / (n + 1) + float(norm.ppf(1 - level)) * self.spread / n**0.5)


WORLDS = {
    "hits around .7": World(hits(0.7), 0.15, 0.65, 0.65),
    "hits around .97": World(hits(0.97), 0.15, 0.9, 0.4),
    NEVER_FAILS: World(hits(1.0), 0.15, 1.0, 0.0),
    "graded": World(graded, 0.15, 0.5, 0.16),
    "a rare ruin": World(rarely_ruined, 0.04, 0.04, 0.2),
}
GAP, LITTLE, SPREAD = "one best", "one best by little", "evenly spread"
SHAPES = (EQUAL, GAP, LITTLE, HIDDEN, SPREAD)


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of world at one size."""

    world: str
    shape: str
    systems: int
    n: int

    @property
    def gaps(self) -> np.ndarray:
        """What each system truly loses against the best."""
        world = WORLDS[self.world]
        if self.shape in (EQUAL, SPREAD):
            return np.linspace(0.0, 0.0 if self.shape == EQUAL else world.gap, self.systems)
        gap = {GAP: world.gap, LITTLE: world.gap / 4, HIDDEN: world.hidden_gap(self.systems, self.n)}
        return np.append(0.0, np.full(self.systems - 1, gap[self.shape]))


CASES = [
    Case(world, shape, count, n)
    for world in WORLDS
    for shape in SHAPES
    for count in SYSTEMS
    for n in SIZES
    if not (count == 2 and shape == SPREAD)  # two systems: the same as one best
    if not (
        count == 50 and shape not in (GAP, HIDDEN)
    )  # it covers always, and losses are compared for 2 and 8
    if not (
        world == "a rare ruin" and shape == HIDDEN
    )  # no gap inside 0 to 1 is larger than that of one best
    if world != NEVER_FAILS or shape == HIDDEN  # its other shapes are those of hits around .97
]


def decide_case(values: np.ndarray, milliseconds: np.ndarray, seed: int) -> Decision:
    """The product's choice among systems of which only scores and latencies are known."""
    names = tuple(f"s{place:02d}" for place in range(len(values)))
    queries = tuple(f"q{place:04d}" for place in range(values.shape[1]))
    means, n = values.mean(axis=1), values.shape[1]
    none = Interval(None, None, 0.95, "hull", 0, seed, "not used here")
    comparison = Comparison(
        measure="score",
        systems=tuple(
            SystemSummary(name, float(mean), none, n, ()) for name, mean in zip(names, means, strict=True)
        ),
        pairs=(),  # the choice looks at regrets and costs alone
        ranking=tuple(names[place] for place in np.argsort(-means, kind="stable")),
        indistinguishable_from_best=names,
        common=n,
        correction="holm",
        alpha=0.05,
        seed=seed,
        notes=(),
    )
    verdict = Verdict(
        kind=VerdictKind.CANT_TELL,
        sentence="",
        reasons=(),
        rule="cant-tell",
        would_settle=None,
        system=None,
        group=(),
    )
    costs = {
        name: Costs(p50_ms=float(value), p50_between=(0.9 * value, 1.1 * value))
        for name, value in zip(names, milliseconds, strict=True)
    }
    found = regrets(ScoreMatrix(names, queries, values, "score"), names, names, seed, margin=MARGIN)
    return choose_system(Evidence(comparison, costs=costs, regrets=found), verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Means over the rounds of one case.

    `covered` and `covered_best`: the bound of the recommended system and of the best mean holds. `expected` and `lost`
    are points of the recommended system, `loss` and `highest` what the recommendation and the highest mean lose with
    costs, `loss_half` and `loss_zero` what it loses by a rule with half the margin and with none. `takes`: the line
    says "Take"; `wrong`: it does, and the system is truly worse by more than the margin.
    """

    covered: float
    covered_best: float
    bound: float
    expected: float
    lost: float
    loss: float
    loss_half: float
    loss_zero: float
    highest: float
    takes: float
    wrong: float


def simulate(case: Case, rounds: int, first: int = FIRST_SEED) -> Outcome:
    """Many samples of one case, by seeds from the first.

    A loss is what is given up in points, and a margin for each factor of ten in cost above the cheapest system within
    the margin of the best. Of several highest means each is taken equally often.
    """
    gaps, milliseconds = case.gaps, np.logspace(2, 0, case.systems)
    within = milliseconds[gaps <= MARGIN + 1e-9].min()
    losses = gaps + MARGIN * np.maximum(0.0, np.log10(milliseconds / within))
    found = []
    for seed in range(first, first + rounds):
        values = WORLDS[case.world].draw(np.random.default_rng([seed, case.n, case.systems]), case.n, gaps)
        decision = decide_case(values, milliseconds, seed)
        bounds = np.array([one.bound for one in decision.case.evidence.regrets.values()])
        chosen, means = int(decision.system[1:]), values.mean(axis=1)
        best, own = int(means.argmax()), decision.case.evidence.regrets[decision.system]
        takes = decision.strength is Strength.TAKE
        found.append(
            [
                gaps[chosen] <= own.bound + 1e-9,
                gaps[best] <= bounds[best] + 1e-9,
                own.bound,
                own.expected,
                gaps[chosen],
                losses[chosen],
                *(losses[int(decision.with_margin(margin).system[1:])] for margin in (MARGIN / 2, 0.0)),
                losses[means >= means.max() - 1e-9].mean(),
                takes,
                takes and gaps[chosen] > MARGIN + 1e-9,
            ]
        )
    averages = np.array(found, dtype=float).mean(axis=0).tolist()
    return Outcome(**dict(zip(Outcome.__slots__, averages, strict=True)))


def fewer_draws() -> None:
    """A quarter of the draws: a bound of 1,000 draws varies by about 3 % of itself, one of 4,000 by half of that."""
    regret.DRAWS = 1_000


def rounds_of(case: Case, rounds: int) -> int:
    """Twice as many of two systems, which take little time, and half as many of fifty."""
    return max(1, {2: 2 * rounds, 8: rounds, 50: rounds // 2}[case.systems])


def unequal_cases(found: dict[Case, Outcome], count: int, n: int) -> list[Case]:
    """The worlds of one size whose systems differ."""
    return [case for case in found if (case.systems, case.n) == (count, n) and case.shape != EQUAL]


def hardest_cases(found: dict[Case, Outcome]) -> dict[Case, None]:
    """For each size the unequal world whose bound covered least often, and the one whose best system never fails.

    The first rounds are too few to find the hardest world reliably; with few queries the second is the hardest.
    """
    cases: dict[Case, None] = {}
    for count in SYSTEMS:
        for n in SIZES:
            lowest = min(unequal_cases(found, count, n), key=lambda case: found[case].covered)
            cases |= {lowest: None, Case(NEVER_FAILS, HIDDEN, count, n): None}
    return cases


def coverage_rows(found: dict[Case, Outcome], again: dict[Case, Outcome], rounds: int) -> Iterator[Row]:
    """For each size the hardest worlds, measured again by fresh seeds, and the mean of all worlds.

    The lowest of several shares is too low by chance, so it only chooses the world. A target is missed where the 95 %
    interval of the new share lies wholly beyond it: below 93 % in any world, or above 97 % in the hardest one.
    """
    for count in SYSTEMS:
        for n in SIZES:
            size, shares = f"{count} systems, n={n}", {}
            for case in unequal_cases(again, count, n):
                tries = AGAIN * rounds_of(case, rounds)
                hits = round(again[case].covered * tries)
                name = (
                    f"bound of the recommended covers, {size} ({case.world}, {case.shape}; {tries:,} rounds)"
                )
                shares[name] = binomtest(hits, tries)
                yield Row(name, hits / tries, 1.0)
                high = float(shares[name].proportion_ci().high)
                yield Row(f"{name}: high end of its interval", high, 0.93, ">= 1")
            name = min(shares, key=lambda one: shares[one].statistic)
            low = float(shares[name].proportion_ci().low)
            yield Row(f"{name}: low end of its interval, hardest world", low, 0.97, "<= 1")
            cases = unequal_cases(found, count, n)
            mean = sum(found[case].covered for case in cases) / len(cases)
            yield Row(
                f"bound of the recommended covers, {size}, mean of {len(cases)} unequal worlds", mean, 1.0
            )


def loss_rows(found: dict[Case, Outcome]) -> Iterator[Row]:
    """Losses of the recommendation against those of the highest mean, for 2 and 8 systems."""
    for tied in (True, False):
        for n in SIZES:
            outcomes = [
                one
                for case, one in found.items()
                if case.n == n
                and case.systems <= 8
                and case.shape != HIDDEN
                and (case.shape == EQUAL) == tied
            ]
            what = "ties" if tied else "the dearest is best"
            name = f"loss of the recommendation against the highest mean's, {what}, n={n}"
            highest = sum(one.highest for one in outcomes) / len(outcomes)
            for field, rule in (
                ("loss", ""),
                ("loss_half", ", half the margin"),
                ("loss_zero", ", no margin"),
            ):
                ours = sum(getattr(one, field) for one in outcomes) / len(outcomes)
                target = "" if rule else "<= 0.5" if tied else "<= 1.2"
                yield Row(name + rule, ours, highest, target)


def take_rows(found: dict[Case, Outcome]) -> Iterator[Row]:
    """How often a line says "Take", and how often of a truly worse system."""
    for n in SIZES:
        outcomes = [one for case, one in found.items() if case.n == n]
        wrong = [one.wrong for one in outcomes]
        what = 'line says "Take" of a truly worse system'
        yield Row(f"{what}, worst world, n={n}", max(wrong), 0.05, "<= 1")
        yield Row(f"{what}, mean of {len(wrong)} worlds, n={n}", sum(wrong) / len(wrong), 0.01, "<= 1")
    for n in SIZES:
        outcomes = [one for case, one in found.items() if case.n == n]
        share = sum(one.takes for one in outcomes) / len(outcomes)
        yield Row(f'share of lines that say "Take", n={n}', share, 1.0)


def print_tables(found: dict[Case, Outcome]) -> None:
    """Print coverage and losses of every world."""
    tables: dict[str, Callable[[Outcome], str]] = {
        "coverage of the recommended and of the best mean (mean bound; expected and true loss of the recommended)": (
            lambda one: (
                f"{100 * one.covered:.1f} / {100 * one.covered_best:.1f} "
                f"({one.bound:.3f}; {one.expected:.3f}, {one.lost:.3f})"
            )
        ),
        "loss of the recommendation / of the highest mean": lambda one: f"{one.loss:.3f} / {one.highest:.3f}",
    }
    for title, cell in tables.items():
        print(f"\n{title}\n| world | systems | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
        print("|---|--:|" + "---|" * len(SIZES))
        for world, shape, count in dict.fromkeys((case.world, case.shape, case.systems) for case in found):
            cells = [cell(found[Case(world, shape, count, n)]) for n in SIZES]
            print(f"| {world}, {shape} | {count} | " + " | ".join(cells) + " |")


def main() -> int:
    """Print both tables and the rows."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with ProcessPoolExecutor(initializer=fewer_draws) as pool:
        tasks = {case: pool.submit(simulate, case, rounds_of(case, rounds)) for case in CASES}
        found = {case: task.result() for case, task in tasks.items()}
        fresh = FIRST_SEED + 10 * rounds
        tasks = {
            case: pool.submit(simulate, case, AGAIN * rounds_of(case, rounds), fresh)
            for case in hardest_cases(found)
        }
        again = {case: task.result() for case, task in tasks.items()}
    print_tables(found)
    return show([*coverage_rows(found, again, rounds), *loss_rows(found), *take_rows(found)])


if __name__ == "__main__":
    raise SystemExit(main())
