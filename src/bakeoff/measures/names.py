"""Measure names: parsing and printing are inverse, and keep depth, unit and parameters."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace

from bakeoff.errors import MeasureError
from bakeoff.measures.catalogue import all_measures, find_by_long_name, find_measure, long_names
from bakeoff.measures.definitions import Cutoff, MeasureDefinition, RequiredInput
from bakeoff.types import Unit

_NAME = re.compile(
    r"^\s*(?P<name>[A-Za-z][\w\-]*?)"
    r"(?:@(?P<at>\d+(?:\.\d+)?(?P<tokens>tokens)?|all))?"
    r"(?:\((?P<args>[^()]*)\))?"
    r"(?:\.(?P<unit>[a-z]+)(?:\.(?P<source>[\w>=\-]+))?)?\s*$"
)
_UNDERSCORED = re.compile(r"^(?P<name>[A-Za-z_]+?)(?:_at)?_(?P<at>\d+)$")
_UNIT_ALIASES = {"file": Unit.DOCUMENT, "doc": Unit.DOCUMENT, "report": Unit.DOCUMENT}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its depth `k`, token `budget` or threshold `t`, unit and parameters.

    None means the conventions' value. A budget replaces a depth.
    """

    name: str
    k: int | None = None
    unit: Unit | None = None
    p: float | None = None
    rel: int | None = None
    t: float | None = None
    source: str = ""
    budget: int | None = None

    def __post_init__(self) -> None:
        _check_cutoff(self, self.definition)
        _check_params(self, self.definition)

    @property
    def definition(self) -> MeasureDefinition:
        """The definition behind this name."""
        definition = find_measure(self.name)
        if definition is None:
            raise unknown(self.name)
        return definition

    @property
    def needs(self) -> RequiredInput:
        """Its required input in a run: for vectors, the exact neighbours are the judgments (S1-5)."""
        of_vectors = self.unit is Unit.VECTOR and self.definition.needs is RequiredInput.JUDGMENTS
        return RequiredInput.NEIGHBOURS if of_vectors else self.definition.needs

    def at_unit(self, unit: Unit) -> Measure:
        """The same measure with its unit in the name."""
        return replace(self, unit=unit)

    def at_depth(self, depth: int) -> Measure:
        """The same measure for a ranking that its budget has already cut to at most `depth` results."""
        needed = self.definition.cutoff is Cutoff.REQUIRED
        return replace(self, budget=None, k=max(depth, 1) if needed else None)

    def __str__(self) -> str:
        at = f"{self.budget}tokens" if self.budget is not None else self.k if self.k is not None else self.t
        args = [str(self.unit)] if self.unit else []
        args += [f"{key}={value}" for key, value in (("p", self.p), ("rel", self.rel)) if value is not None]
        args += [f"source={self.source}"] if self.source else []
        return self.name + (f"@{at}" if at is not None else "") + (f"({', '.join(args)})" if args else "")


def parse(text: str | Measure) -> Measure:
    """Parse a measure name; also R@500tokens, MRR@10, map_cut_10 and precision@5.chunk.sql."""
    if isinstance(text, Measure):
        return text
    match = _NAME.match(text)
    if match is None:
        raise MeasureError(
            f"{text!r} is not a measure name. Write it like nDCG@10, P@5(chunk) or RBP(p=0.8)."
        )
    budget = bool(match["tokens"])
    definition, at = _resolve(match["name"], (match["at"] or "").removesuffix("tokens") or None)
    args = _arguments(match["args"] or "", text)
    if match["unit"]:
        args["unit"] = match["unit"]
    if match["source"]:
        args["source"] = match["source"]
    return _build(definition, at, args, text, budget=budget)


def check_computable(measures: tuple[Measure, ...]) -> None:
    """Raise for measures that can't be computed from rankings and judgments of one unit."""
    if not measures:
        raise MeasureError("no measure was given. Name at least one, for example nDCG@10.")
    for measure in measures:
        if measure.definition.needs is not RequiredInput.JUDGMENTS:
            raise MeasureError(
                f"{measure} is computed from {measure.definition.needs}, not from rankings and judgments."
            )
        if measure.budget is not None:
            raise MeasureError(
                f"{measure} needs the tokens of each result, which rankings do not hold. Measure it in a run."
            )
    units = sorted({str(measure.unit) for measure in measures if measure.unit})
    if len(units) > 1:
        raise MeasureError(
            f"rankings have one unit, but the measures name {' and '.join(units)}. Evaluate each unit separately."
        )


def unknown(name: str) -> MeasureError:
    """The error for an unknown name, with the nearest names."""
    known = long_names()
    near = difflib.get_close_matches(name.lower(), list(known), n=3, cutoff=0.5)
    guesses = list(dict.fromkeys(known[word] for word in near))
    hint = (
        f"Did you mean {' or '.join(guesses)}?"
        if guesses
        else f"Known: {', '.join(dict.fromkeys(known.values()))}."
    )
    return MeasureError(f"no measure is called {name!r}. {hint} `bakeoff list measures` explains each.")


def _resolve(name: str, at: str | None) -> tuple[MeasureDefinition, str | None]:
    definition = find_by_long_name(name)
    if definition is None and at is None and (split := _UNDERSCORED.match(name)):
        definition, at = find_by_long_name(split["name"]), split["at"]
    if definition is None:
        raise unknown(name)
    return definition, None if at == "all" else at


def _arguments(inside: str, text: str) -> dict[str, str]:
    args: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in inside.split(","))):
        key, equals, value = part.partition("=")
        key, value = (key.strip(), value.strip()) if equals else ("unit", key)
        if key not in ("unit", "p", "rel", "source") or not value:
            raise MeasureError(
                f"{text!r}: cannot read {part!r}. Allowed inside the brackets: a unit, p=, rel=, source=."
            )
        if key in args:
            raise MeasureError(f"{text!r}: {key} is given twice.")
        args[key] = value
    return args


def _build(
    definition: MeasureDefinition, at: str | None, args: dict[str, str], text: str, *, budget: bool
) -> Measure:
    threshold = definition.cutoff is Cutoff.THRESHOLD
    try:
        return Measure(
            definition.name,
            k=int(at) if at is not None and not threshold and not budget else None,
            unit=_unit(args["unit"], text) if "unit" in args else None,
            p=float(args["p"]) if "p" in args else (0.8 if "p" in definition.params else None),
            rel=int(args["rel"]) if "rel" in args else None,
            t=float(at) if at is not None and threshold and not budget else None,
            source=args.get("source", ""),
            budget=int(at) if at is not None and budget else None,
        )
    except ValueError as exc:
        raise MeasureError(f"{text!r}: {exc}. k and rel are whole numbers, p is a number below 1.") from exc


def _unit(word: str, text: str) -> Unit:
    if word in _UNIT_ALIASES:
        return _UNIT_ALIASES[word]
    if word not in list(Unit):
        raise MeasureError(f"{text!r}: {word!r} is not a unit. Units: {', '.join(Unit)}.")
    return Unit(word)


def _check_cutoff(measure: Measure, row: MeasureDefinition) -> None:
    name, k, t = measure.name, measure.k, measure.t
    if measure.budget is not None:
        _check_budget(measure, row)
    elif row.cutoff is Cutoff.REQUIRED and k is None:
        raise MeasureError(f"{name} needs a depth: write {name}@10.")
    elif row.cutoff is Cutoff.THRESHOLD and t is None:
        raise MeasureError(f"{name} needs a score threshold: write {name}@0.5.")
    if row.cutoff in (Cutoff.NONE, Cutoff.THRESHOLD) and k is not None:
        raise MeasureError(f"{name} has no depth: write {name} without @{k}.")
    if row.cutoff is not Cutoff.THRESHOLD and t is not None:
        raise MeasureError(f"{name} has no score threshold: remove t={t}.")
    if k is not None and k < 1:
        raise MeasureError(f"{name}@{k}: the depth must be 1 or more.")


def _check_budget(measure: Measure, row: MeasureDefinition) -> None:
    if not row.budget:
        names = ", ".join(one.name for one in all_measures() if one.budget)
        raise MeasureError(
            f"{measure.name} is not defined for a token budget. Measures that take one: {names}."
        )
    if measure.budget is not None and measure.budget < 1:
        raise MeasureError(f"{measure.name}@{measure.budget}tokens: the budget must be 1 token or more.")
    if measure.k is not None:
        raise MeasureError(f"{measure.name} has both a depth and a token budget. Use one.")


def _check_params(measure: Measure, row: MeasureDefinition) -> None:
    for key in ("p", "rel"):
        if getattr(measure, key) is not None and key not in row.params:
            raise MeasureError(
                f"{measure.name} takes no {key}=. It takes: {', '.join(row.params) or 'no parameters'}."
            )
    if "p" in row.params and not (measure.p is not None and 0 < measure.p < 1):
        raise MeasureError(
            f"{measure.name} needs p between 0 and 1, got {measure.p}: write {measure.name}(p=0.8)."
        )
    if measure.rel is not None and measure.rel < 1:
        raise MeasureError(
            f"{measure.name}: rel={measure.rel} would make non-relevant items relevant; use 1 or more."
        )
    if measure.unit is not None and measure.unit not in row.units:
        allowed = ", ".join(row.units)
        raise MeasureError(f"{measure.name} is not defined for the unit {measure.unit}. Possible: {allowed}.")
