"""Who flies what, in which phase, and which topics each invented report is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from bakeoff.errors import CorpusError
from bakeoff.examples.incidents.prose import Draw
from bakeoff.types import Json

How = Literal["keyword", "paraphrase", "decoy"]
HOWS: tuple[How, ...] = get_args(How)
CALIBRATED = 140
_PHRASES = Path(__file__).with_name("phrases")


@dataclass(frozen=True, slots=True)
class Model:
    """An aircraft model; `kind` is jet, turboprop, piston or helicopter, `operation` who usually flies it."""

    maker: str
    bare: str
    kind: str
    operation: str


@dataclass(slots=True)
class CastingResult:
    """One invented report before it is written: `topics` has its subjects and how each is worded."""

    report: str
    model: Model
    phase: str
    topics: dict[str, How] = field(default_factory=dict)


@cache
def phrases(name: str) -> Mapping[str, Json]:
    """One phrase file, read once."""
    import yaml

    loaded: Mapping[str, object] = yaml.safe_load((_PHRASES / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


def cast(seed: int, reports: int) -> list[CastingResult]:
    """The invented reports of a corpus, in the order of their ids, with their topics dealt out."""
    if reports < CALIBRATED:
        raise CorpusError(
            f"reports={reports} is too few: the counts in queries.yaml need at least {CALIBRATED}. "
            f"Ask for {CALIBRATED} or more, or leave `reports` out."
        )
    draw = Draw(f"{seed}/cast")
    invented = reports - len(phrases("named")["reports"])
    castings = _roles(draw, invented)
    _deal(castings, draw, scale=invented / (CALIBRATED - len(phrases("named")["reports"])))
    return sorted(castings, key=lambda casting: casting.report)


def _roles(draw: Draw, count: int) -> list[CastingResult]:
    """Models, phases and ids; the reports that queries name come first and fly their approach."""
    world = phrases("world")
    models = _models(draw, count)
    phases = draw.shuffle([phase for phase, share in world["phases"].items() for _ in range(share)])
    castings = []
    for report, key in world["required"].items():
        models.remove(key)
        phases.remove("approach")
        castings.append(CastingResult(report, _model(key), "approach"))
    ids = _ids(draw, set(world["required"]) | set(phrases("named")["reports"]))
    for position, key in enumerate(models):
        model = _model(key)
        kind = "AAR" if model.operation == "airline" else "AAB"
        castings.append(CastingResult(ids[kind](), model, phases[position % len(phases)]))
    return castings


def _models(draw: Draw, count: int) -> list[str]:
    """`count` model keys in the shares of world.yaml, shuffled."""
    once = [key for key, row in phrases("world")["models"].items() for _ in range(row[4])]
    return draw.shuffle([once[position % len(once)] for position in range(count)])


def _model(key: str) -> Model:
    maker, bare, kind, operation, _ = phrases("world")["models"][key]
    return Model(maker, str(bare), kind, operation)


def _ids(draw: Draw, taken: set[str]) -> Mapping[str, Json]:
    """For each kind of report a function that gives the next free id: kind, two-digit year, number."""
    years = draw.shuffle([f"{year % 100:02d}" for year in range(1984, 2020)])

    def free(kind: str) -> Iterator[str]:
        for number in range(1, 100):
            for year in years:
                report = f"{kind}{year}{number:02d}"
                if report not in taken:
                    yield report

    return {kind: free(kind).__next__ for kind in ("AAR", "AAB")}


def _deal(castings: list[CastingResult], draw: Draw, scale: float) -> None:
    """Give every topic its reports: those it must have, then those with the fewest topics so far."""
    by_id = {casting.report: casting for casting in castings}
    topics = phrases("topics")
    for name, topic in topics.items():
        for report in topic.get("reports", ()):
            by_id[report].topics[name] = "keyword"
    for how in HOWS:
        for name, topic in topics.items():
            wanted = round(topic["counts"].get(how, 0) * scale)
            wanted -= sum(casting.topics.get(name) == how for casting in castings)
            for _ in range(wanted):
                _give(name, how, castings, draw)


def _give(name: str, how: How, castings: list[CastingResult], draw: Draw) -> None:
    """Give a topic to one of the reports that can take it and have the fewest; none where all have it."""
    able = [casting for casting in castings if _suits(casting, name, how)]
    if able:
        fewest = min(len(casting.topics) for casting in able)
        draw.pick([casting for casting in able if len(casting.topics) == fewest]).topics[name] = how


def _suits(casting: CastingResult, name: str, how: How) -> bool:
    """Whether a report can take a topic: aircraft, operation and phase fit, and no paraphrase is betrayed."""
    topic = phrases("topics")[name]
    fits = (
        name not in casting.topics
        and casting.model.kind in topic.get("classes", [casting.model.kind])
        and casting.model.operation in topic.get("operations", [casting.model.operation])
        and casting.phase in topic.get("phases", [casting.phase])
        and any(casting.model.bare.startswith(family) for family in topic.get("families", [""]))
    )
    if how == "decoy" and "beside" in topic:
        fits = fits and casting.topics.get(topic["beside"]) == "keyword"
    return fits and not _reveals_category(casting, name, how)


def _reveals_category(casting: CastingResult, name: str, how: How) -> bool:
    topics = phrases("topics")
    if how == "paraphrase" and any(other in casting.topics for other in topics[name].get("avoid", ())):
        return True
    return any(
        said == "paraphrase" and name in topics[other].get("avoid", ())
        for other, said in casting.topics.items()
    )
