"""Engines send their makers nothing, and leave no mark in the home folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SESSION = """
from pathlib import Path
from onnx import TensorProto, helper
from bakeoff import registry
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "ab"]
graph = helper.make_graph([helper.make_node("Identity", ["a"], ["b"])], "g", ends[:1], ends[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
Path("model.onnx").write_bytes(model.SerializeToString())
registry.load("embedders", "onnx")
import onnxruntime
onnxruntime.InferenceSession("model.onnx")
"""
TOLD = ("ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "CI", "GITHUB_ACTIONS", "XDG_CACHE_HOME")


def python(code: str, home: Path, **more: str) -> None:
    """Run code as a user who has set nothing."""
    kept = {key: value for key, value in os.environ.items() if key not in TOLD}
    done = subprocess.run([sys.executable, "-c", code], env={**kept, "HOME": str(home), **more}, cwd=home,
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_model_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package)
    python(SESSION, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_who_wants_to_send_it_can(tmp_path: Path) -> None:
    python(
        "import os, bakeoff.plugins; assert os.environ['DO_NOT_TRACK'] == '0'; "
        "assert os.environ['RAY_USAGE_STATS_ENABLED'] == '0'",
        tmp_path,
        DO_NOT_TRACK="0",
    )


def test_haystack_reports_nothing(tmp_path: Path) -> None:
    pytest.importorskip("haystack")
    python(
        "from bakeoff import registry; registry.load('retrievers', 'haystack'); "
        "from haystack.telemetry import _telemetry; assert _telemetry.telemetry is None",
        tmp_path,
    )
