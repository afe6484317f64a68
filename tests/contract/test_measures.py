"""Every built-in measure of judgments under the contract that measures of other packages are checked by."""

from bakeoff.measures.catalogue import all_measures
from bakeoff.measures.definitions import RequiredInput
from bakeoff.testing import MeasureContract

NAMES = {one.name for one in all_measures() if one.needs is RequiredInput.JUDGMENTS}
WITH_PARAMETERS = {
    "RBP": ("RBP(p=0.8)", "RBP@3(p=0.5)", "RBP@5(p=0.8, rel=2)"),
    "AP": ("AP", "AP@3", "AP@5(rel=2)"),
    "P": ("P@1", "P@3", "P@10", "P@5(rel=2)"),
    "R": ("R@1", "R@3", "R@10", "R@5(rel=2)"),
    "RR": ("RR", "RR@1", "RR@3", "RR@3(rel=2)"),
}


def contract(measure: str) -> type[MeasureContract]:
    return type(
        f"Test{measure}", (MeasureContract,), {"name": measure, "names": WITH_PARAMETERS.get(measure, ())}
    )


globals().update({f"Test{name}": contract(name) for name in sorted(NAMES)})


def test_every_measure_of_judgments_is_under_the_contract() -> None:
    assert len(NAMES) == 14
