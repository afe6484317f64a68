from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import bakeoff
from bakeoff.errors import ComparisonError
from bakeoff.tworuns import check_comparable


def test_results_under_other_conventions_are_not_compared(ran: Any, tmp_path: Path) -> None:
    other = Path(shutil.copytree(ran.result.path, tmp_path / "run"))
    record = json.loads((other / "run.json").read_text())
    record["conventions"]["rel"] = 2
    (other / "run.json").write_text(json.dumps(record))
    with pytest.raises(ComparisonError, match="rel"):
        check_comparable(ran.result, bakeoff.open_run(other))
    assert check_comparable(ran.result, bakeoff.open_run(other), allow_mixed=True)
    assert check_comparable(ran.result, bakeoff.open_run(ran.result.path)) == ()
