"""Coefficients against a published worked example and values of krippendorff 0.9.0 and scikit-learn 1.9.1."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.review.agreement import alpha, cohen_kappa, kappa, krippendorff_alpha, raw_agreement

NAN = math.nan
PUBLISHED = [  # Krippendorff 2011, four observers and twelve units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


def digits(text: str) -> list[float]:
    return [float(letter) for letter in text]


A = digits("230312213011210000030230111303330121222032311300120310233310")
B = digits("130312213310210000000333101331230220323031302030220310213310")
C = digits("330313101011210022030201111103100111200130231120222010213210")


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)]
)
def test_the_published_example(level: str, value: float) -> None:
    assert krippendorff_alpha(PUBLISHED, level) == pytest.approx(value, abs=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.39548084270276174), ("ordinal", 0.3632094597675405)]
)
def test_alpha_with_gaps(level: str, value: float) -> None:
    table = np.array([A, B, C])
    table[0, ::7] = table[2, ::5] = NAN
    assert krippendorff_alpha(table, level) == pytest.approx(value, abs=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "value"),
    [("none", 0.5293238700037355), ("linear", 0.5601173020527859), ("quadratic", 0.558303886925795)],
)
def test_kappa(weights: str, value: float) -> None:
    assert cohen_kappa(A, B, weights) == pytest.approx(value, abs=1e-12)  # type: ignore[arg-type]


def test_agreement_and_contradiction() -> None:
    assert cohen_kappa([0, 1, 0, 1], [0, 1, 0, 1]) == 1
    assert cohen_kappa([0, 1, 0, 1], [1, 0, 1, 0]) == -1
    assert krippendorff_alpha([[0, 1, 0, 1], [0, 1, 0, 1]]) == 1


def test_intervals_hold_the_value_and_shrink_with_items() -> None:
    few, many = kappa(A[:20], B[:20]), kappa(A * 4, B * 4)
    for one in (few, many, alpha(PUBLISHED)):
        assert one.value is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.value <= one.high
    assert (many.high or 0) - (many.low or 0) < (few.high or 0) - (few.low or 0)
    assert kappa(A, B) == kappa(A, B)


def test_what_is_not_defined_has_a_reason() -> None:
    assert kappa([1, 1, 1], [1, 1, 1]).reason.startswith("everyone")
    assert alpha([[1, NAN], [NAN, 1]]).value is None
    assert raw_agreement([NAN], [1]) is None
    with pytest.raises(ComparisonError):
        cohen_kappa([1], [1, 2])
