"""Chroma's server, which comes with its client."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from bakeoff.runtime.servers.base import HOST, Server, Site, get_json


class ChromaServer(Server):
    """`chroma run` on its own folder."""

    name = "chroma"
    how = "pip install 'bakeoff[chroma]'."
    optional = True

    def find(self) -> Path | None:
        path = shutil.which("chroma", path=str(Path(sys.executable).parent)) or shutil.which("chroma")
        return Path(path) if path else None

    def command(self, site: Site) -> list[str]:
        at = ["--host", HOST, "--port", str(site.port)]
        return [str(site.program), "run", "--path", str(site.data), *at]

    def environment(self) -> dict[str, str]:
        return {"ANONYMIZED_TELEMETRY": "False"}

    def version(self, site: Site) -> str:
        get_json(f"{site.http}/api/v2/heartbeat")
        return f"Chroma {version('chromadb')}"  # its own answer is the version of its API

    def settings(self, site: Site) -> dict[str, str]:
        return {"BAKEOFF_CHROMA_URL": site.http}

    def line(self, site: Site) -> str:
        return f"{{chroma: {{url: {site.http}}}}}"
