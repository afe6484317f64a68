"""The vector forms of a run: families of systems that differ in nothing else, and the smallest form that
suffices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.runs.analysis import Result
from bakeoff.runs.once import once_per_result
from bakeoff.runs.system_needs import decision_rule
from bakeoff.stats.equivalence import FormLoss, form_losses
from bakeoff.stats.number_format import points, points_to_three, short_names
from bakeoff.types import TableRow


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredForm:
    """One form of a family: bytes per vector as searched, whether full vectors rescore its candidates, and
    its loss. The full form has no loss; `within` is whether the loss is shown to be within the margin."""

    system: str
    vector_bytes: int
    rescore: int
    loss: FormLoss | None = None
    within: bool = False

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: smaller forms first, those without rescoring before those with."""
        return self.vector_bytes, self.rescore


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFamily:
    """The forms of one system, smallest first; `full` is None if full vectors were not measured."""

    name: str
    full_bytes: int
    full: str | None
    forms: tuple[MeasuredForm, ...]

    @property
    def smallest(self) -> MeasuredForm | None:
        """The smallest form shown to be within the margin."""
        return next((form for form in self.forms if form.within), None)

    @property
    def small(self) -> tuple[MeasuredForm, ...]:
        """The forms smaller than the full one."""
        return tuple(form for form in self.forms if form.system != self.full)


@once_per_result
def form_families(result: Result) -> tuple[FormFamily, ...]:
    """Families of finished systems with more than one vector form, in the order of the run."""
    families: dict[str, list[TableRow]] = {}
    for row in result.systems.to_pylist():
        if row["vector_bytes"] is not None and row["system"] in result.done:
            families.setdefault(row["family"], []).append(row)
    return tuple(_family(result, name, rows) for name, rows in families.items() if len(rows) > 1)


def smallest_form_sentence(result: Result, system: str) -> str:
    """Sentence on the smallest form within the margin in a system's family, or that there is none; '' without
    forms."""
    families = form_families(result)
    family = next((one for one in families if any(form.system == system for form in one.forms)), None)
    family = family or (families[0] if families else None)
    if family is None:
        return ""
    measure, margin = result.record.primary, points(decision_rule(result).margin)[0]
    if family.full is None:
        return (
            f"Full vectors of {family.name} were not measured, so the loss of smaller ones is unknown. Add "
            "storage float32 with the model's own dims."
        )
    names = short_names(tuple(result.done))
    smallest, of = family.smallest, f"the {family.full_bytes:,} bytes of {names[family.full]}"
    if smallest is None:
        best = min((form for form in family.small), key=_bound)
        return (
            f"No smaller form is shown to lose at most {margin} {measure} against {of}. The nearest is "
            f"{names[best.system]} with {_loss_text(best)}; more questions narrow that."
        )
    also = ", next to the full ones that rescoring reads" if smallest.rescore else ""
    return (
        f"{names[smallest.system]} is the smallest form shown to lose at most {margin} {measure}: "
        f"{smallest.vector_bytes:,} bytes per vector{also}, instead of {of}; {_loss_text(smallest)} "
        f"({len(family.small)} forms tested together)."
    )


def _family(result: Result, name: str, rows: list[TableRow]) -> FormFamily:
    full = next((row["system"] for row in rows if row["vector_bytes"] == row["full_bytes"]), None)
    others = tuple(row["system"] for row in rows if row["system"] != full)
    matrix, margin = result.matrix(result.record.primary), decision_rule(result).margin
    losses = form_losses(matrix, full, others, result.record.seed) if full is not None else {}
    forms = [
        MeasuredForm(
            system=row["system"],
            vector_bytes=row["vector_bytes"],
            rescore=row["rescore"] or 0,
            loss=losses.get(row["system"]),
            within=row["system"] in losses and losses[row["system"]].within(margin),
        )
        for row in rows
    ]
    ordered = tuple(sorted(forms, key=lambda form: form.order))
    return FormFamily(name=name, full_bytes=rows[0]["full_bytes"], full=full, forms=ordered)


def _bound(form: MeasuredForm) -> float:
    return form.loss.bound if form.loss is not None and form.loss.bound is not None else float("inf")


def _loss_text(form: MeasuredForm) -> str:
    loss = form.loss
    if loss is None or loss.mean is None or loss.bound is None:
        return "an unknown loss: no question is scored for both"
    return f"a mean loss of {points_to_three(loss.mean)}, at most {points_to_three(loss.bound)}"


def form_rows(result: Result) -> Iterator[dict[str, object]]:
    """Yield every form as plain values, for JSON and exports."""
    for family in form_families(result):
        for form in family.forms:
            loss = form.loss or FormLoss(None, None)
            yield {
                "family": family.name,
                "system": form.system,
                "vector_bytes": form.vector_bytes,
                "full_bytes": family.full_bytes,
                "rescore": form.rescore,
                "full": form.system == family.full,
                "loss": loss.mean,
                "loss_at_most": loss.bound,
                "within_margin": form.within,
                "smallest_within_margin": form is family.smallest,
            }
