"""Milvus standalone from its wheel, in its own virtual environment: its dependencies are not ours."""

from __future__ import annotations

import sys
from pathlib import Path

from bakeoff.runtime.servers.base import HOST, NotYetError, Server, Site, get_json, given_program
from bakeoff.runtime.servers.processes import finish

WHEELS = (
    "milvus==2.3.5",
    "setuptools==69.5.1",
)  # the wheel needs pkg_resources, which later setuptools lack
PARTS = (
    "proxy",
    "etcd",
    "root-coord",
    "proxy-internal",
    "query-coord",
    "query-node",
    "index-node",
    "data-coord",
    "data-node",
)
COMPONENTS = ("rootCoord", "proxy", "queryCoord", "queryNode", "indexNode", "dataCoord", "dataNode")
PROGRAM = Path("bin") / "milvus-server"


class MilvusServer(Server):
    """The standalone server; it listens on every interface, and its release has no setting to change that."""

    name = "milvus"
    how = "`bakeoff servers up milvus --install` installs it (60 MB) in its own virtual environment."
    ports = len(PARTS)
    deadline = 180.0
    optional = True

    def find(self) -> Path | None:
        program = self.folder / "venv" / PROGRAM
        return program if program.exists() else given_program(self.name, "milvus-server")

    def install(self) -> None:
        venv = self.folder / "venv"
        finish([sys.executable, "-m", "venv", str(venv)], self.folder, None, "making a virtual environment")
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        finish([*pip, *WHEELS], self.folder, None, f"pip install {' '.join(WHEELS)}")

    def command(self, site: Site) -> list[str]:
        ports = [f"--{part}-port={port}" for part, port in zip(PARTS, site.ports, strict=True)]
        here = [f"--extra-config={part}.ip={HOST}" for part in COMPONENTS]
        return [str(site.program), "--data", str(site.data), *ports, *here]

    def version(self, site: Site) -> str:
        answer = get_json(f"{site.http}/v1/vector/collections")
        if answer.get("code") != 200:
            raise NotYetError(str(answer))
        wheel = next(iter(site.program.parent.parent.glob("lib/*/site-packages/milvus-*.dist-info")), None)
        return "Milvus" if wheel is None else f"Milvus {wheel.stem.split('-')[1]}"

    def settings(self, site: Site) -> dict[str, str]:
        return {"BAKEOFF_MILVUS_URI": site.http}

    def line(self, site: Site) -> str:
        return f"{{milvus: {{uri: {site.http}}}}}"
