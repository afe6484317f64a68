"""Writes the synthetic accident reports and, apart from them, what each is really about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.examples.incidents.casting import CALIBRATED, CastingResult, How, Model, cast, phrases
from bakeoff.examples.incidents.prose import Draw
from bakeoff.types import Json

NOTICE = (
    "SYNTHETIC REPORT: written by a program to test search; it is not a record of any real investigation, "
    "and what it says must not be quoted as fact."
)
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_ABOARD = {"airline": (40, 260), "feeder": (8, 34), "private": (2, 4), "rotary": (2, 4)}
_PURPOSE = {"airline": "passenger", "feeder": "passenger", "private": "personal", "rotary": "utility"}


@dataclass(frozen=True, slots=True)
class ReportPassage:
    """Where a report speaks of a topic: `start` and `end` are characters of the file's text."""

    topic: str
    how: How
    section: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """One report: its text, and its hidden truth."""

    id: str
    text: str
    model: Model | None
    maker_named: bool
    phase: str
    passages: tuple[ReportPassage, ...]


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence, with the topic it speaks of if it speaks of one."""

    text: str
    topic: str = ""
    how: How = "keyword"


def write_reports(folder: Path, seed: int = 7, reports: int = CALIBRATED) -> list[Path]:
    """Write the corpus as `AAR0201.txt` … into a folder; the bytes depend on seed and count alone."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for report in make_reports(seed, reports):
        path = folder / f"{report.id}.txt"
        path.write_bytes(report.text.encode("utf-8"))
        paths.append(path)
    return paths


def write_labels(path: Path, seed: int = 7, reports: int = CALIBRATED) -> Path:
    """Write the hidden truth of every report as JSON; in the corpus folder it would be read as a document."""
    labels = {report.id: _label(report) for report in make_reports(seed, reports)}
    path.write_bytes((json.dumps(labels, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    return path


def make_reports(seed: int = 7, reports: int = CALIBRATED) -> list[IncidentReport]:
    """All reports of the corpus in the order of their ids."""
    castings = cast(seed, reports)
    mentions = _mentions(castings, Draw(f"{seed}/mentions"))
    invented = [_draw_report(casting, mentions.get(casting.report), seed) for casting in castings]
    named = [
        _write_known_report(report, entry, seed) for report, entry in phrases("named")["reports"].items()
    ]
    return sorted(invented + named, key=lambda report: report.id)


def _label(report: IncidentReport) -> dict[str, object]:
    passages = [asdict(passage) for passage in report.passages]
    topics = _whole_topics(report) | {passage.topic: passage.how for passage in report.passages}
    model = asdict(report.model) if report.model else None
    return {
        "model": model,
        "maker_named": report.maker_named,
        "phase": report.phase,
        "topics": topics,
        "passages": passages,
    }


def _whole_topics(report: IncidentReport) -> dict[str, How]:
    """Topics the whole report is about, without a passage of their own: an incident, an aircraft family."""
    named = list(phrases("named")["reports"])
    topics: dict[str, How] = {"CMP-008": "keyword"}
    if report.id in named:
        topics[f"INC-{named.index(report.id) + 1:03d}"] = "keyword"
    if report.model and report.model.maker == "Cessna":
        topics["ACF-003"] = "keyword" if report.maker_named else "paraphrase"
    if report.model and report.model.bare.startswith("747"):
        topics["ACF-004"] = "keyword" if report.maker_named else "paraphrase"
    return topics


def _mentions(castings: list[CastingResult], draw: Draw) -> dict[str, str]:
    """Which invented report mentions which of the nine named incidents."""
    named = list(phrases("named")["reports"])
    chosen = draw.shuffle([casting.report for casting in castings])[: phrases("named")["mentions"]["count"]]
    return {report: named[position % len(named)] for position, report in enumerate(chosen)}


# --- the two kinds of report --------------------------------------------------------------------------


def _draw_report(casting: CastingResult, mention: str | None, seed: int) -> IncidentReport:
    """A report in which everything is drawn."""
    draw = Draw(f"{seed}/{casting.report}")
    maker_named = casting.model.maker not in phrases("world")["bare_makers"] or draw.number(1, 3) > 1
    facts = _facts(casting, maker_named, draw)
    said = {key: _ordinary(section, facts, draw) for key, section in phrases("sections").items()}
    for name, how in casting.topics.items():
        topic = phrases("topics")[name]
        for key, variants in topic[how].items():
            said[key].append(_Said(draw.fill(draw.pick(variants), facts), topic.get("of", name), how))
    if mention:
        _mention(said, mention, draw)
    title = f"{_capital(facts['an_aircraft'])}, {facts['reg']}, near {facts['place']}, {facts['date']}"
    text, passages = _compose(f"Report {casting.report}: {title}.", said, draw)
    return IncidentReport(casting.report, text, casting.model, maker_named, casting.phase, passages)


def _ordinary(section: Mapping[str, Json], facts: Mapping[str, str], draw: Draw) -> list[_Said]:
    """Sentences any report may have: the first `always` ones, and others up to the number drawn."""
    always = section.get("always", 0)
    lines = section["of"][:always]
    lines = lines + draw.some(section["of"][always:], draw.number(*section["pick"]) - always)
    return [_Said(draw.fill(line, facts)) for line in lines]


def _mention(said: dict[str, list[_Said]], report: str, draw: Draw) -> None:
    """Let an invented report speak of a named incident in passing: a decoy for that incident's query."""
    mentions = phrases("named")["mentions"]
    order = list(phrases("named")["reports"]).index(report) + 1
    text = draw.fill(draw.pick(mentions["of"]), phrases("named")["reports"][report])
    said[mentions["section"]].append(_Said(text, f"INC-{order:03d}", "decoy"))


def _write_known_report(report: str, entry: Mapping[str, Json], seed: int) -> IncidentReport:
    """A report on one of the nine incidents: nothing drawn but the form of its headings."""
    draw = Draw(f"{seed}/{report}")
    aircraft = f"{entry['maker']} {entry['bare']}" if "bare" in entry else "airplane"
    facts = {
        "flight": entry["flight"],
        "Flight": entry["flight"],
        "year": str(entry["year"]),
        "subject": entry["subject"],
        "remedy": entry["remedy"],
        "craft": "airplane",
        "an_aircraft": _article(aircraft),
    }
    neutral = phrases("named")["neutral"]
    said = {key: [_Said(draw.fill(line, facts)) for line in lines] for key, lines in neutral.items()}
    for topic, sections in entry["topics"].items():
        for key, variants in sections.items():
            said[key].append(_Said(draw.fill(draw.pick(variants), facts), topic))
    model = Model(entry["maker"], entry["bare"], "jet", "airline") if "bare" in entry else None
    text, passages = _compose(f"Report {report}: {entry['flight']}, {entry['year']}.", said, draw)
    return IncidentReport(report, text, model, model is not None, "", passages)


# --- text -------------------------------------------------------------------------------------------


def _compose(
    title: str, said: Mapping[str, list[_Said]], draw: Draw
) -> tuple[str, tuple[ReportPassage, ...]]:
    """Headings and sentences put together, one sentence a line, and where each topic is spoken of."""
    style = draw.pick(["plain", "numbered", "lettered"])
    text = f"{NOTICE}\n{title}\n"
    passages: list[ReportPassage] = []
    for key, section in phrases("sections").items():
        heading = _heading(key, section, style, draw)
        text += f"\n{heading}\n\n"
        for sentence in said[key]:
            if sentence.topic:
                end = len(text) + len(sentence.text)
                passages.append(ReportPassage(sentence.topic, sentence.how, heading, len(text), end))
            text += sentence.text + "\n"
    return text, tuple(passages)


def _heading(key: str, section: Mapping[str, Json], style: str, draw: Draw) -> str:
    """A heading in capitals: plain, numbered (`1.7 METEOROLOGICAL INFORMATION`) or `(b) PROBABLE CAUSE`."""
    name: str = draw.pick(section["heading"])
    lettered = {"conclusions": "(a) FINDINGS", "cause": "(b) PROBABLE CAUSE"}
    if style == "lettered" and key in lettered:
        return lettered[key]
    if style == "numbered" and section["number"][0].isdigit():
        return f"{section['number']} {name}"
    return name


def _facts(casting: CastingResult, maker_named: bool, draw: Draw) -> dict[str, str]:
    """What the templates of an invented report can refer to."""
    world, model = phrases("world"), casting.model
    two_crew = model.operation in ("airline", "feeder") or model.bare in ("Learjet 35", "King Air 200")
    origin, destination, place = draw.shuffle(world["places"])[:3]
    aboard = draw.number(*_ABOARD[model.operation])
    hour, minute, year = draw.number(5, 22), draw.number(12, 57), _year(casting.report)
    aircraft = f"{model.maker} {model.bare}" if maker_named else model.bare
    flight = f"flight {_flight_number(draw)}" if model.operation in ("airline", "feeder") else "the flight"
    facts = {
        "operator": draw.pick(world["operators"][model.operation]),
        "an_aircraft": _article(aircraft),
        "craft": "helicopter" if model.kind == "helicopter" else "airplane",
        "reg": f"N0{draw.number(10, 99)}{draw.pick(_LETTERS)}{draw.pick(_LETTERS)}",
        "flight": flight,
        "captain": "the captain" if two_crew else "the pilot",
        "crew": "the flight crew" if two_crew else "the pilot",
        "origin": origin,
        "destination": destination,
        "place": place,
        "date": f"{draw.pick(world['months'])} {draw.number(1, 28)}, {year}",
        "built": str(year - draw.number(3, 24)),
        "time": f"{hour:02d}{minute:02d}",
        "time2": f"{hour:02d}{minute - draw.number(5, 11):02d}",
        "time3": f"{hour:02d}{minute - draw.number(1, 4):02d}",
        "light": _light(casting, hour),
        "runway": f"{draw.number(1, 36):02d}",
        "purpose": _PURPOSE[model.operation],
        "aboard": str(aboard),
        "hurt": str(draw.number(1, aboard)),
    }
    return facts | {_capital(name): _capital(facts[name]) for name in ("flight", "crew", "captain")}


def _year(report: str) -> int:
    """The year of the accident: the one before the report's own."""
    digits = int(report[3:5])
    return (1900 if digits > 50 else 2000) + digits - 1


def _flight_number(draw: Draw) -> int:
    """A flight number above those of the named incidents and of the query that has no answer."""
    return draw.number(5000, 8999)


def _light(casting: CastingResult, hour: int) -> str:
    if casting.topics.get("CMP-004") in ("keyword", "paraphrase"):
        return "darkness"
    return "daylight" if 7 <= hour <= 18 else "twilight"


def _article(name: str) -> str:
    """The name with its indefinite article, by sound: an ATR, an MD-82, a Boeing."""
    spelled_vowel = name[0] in "AEIOUaeiou8" or name.startswith(("MD", "S-", "11", "18"))
    return f"{'an' if spelled_vowel else 'a'} {name}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
