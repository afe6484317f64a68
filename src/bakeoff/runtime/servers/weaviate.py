"""Weaviate built from its source by Go."""

from __future__ import annotations

import json
import shlex
import shutil
from http.client import HTTPConnection
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.runtime.servers.base import HOST, NotYetError, Server, Site, given_program
from bakeoff.runtime.servers.processes import finish

MODULE = "github.com/weaviate/weaviate@v1.35.2"
EVERYWHERE = 'fmt.Sprintf(":%d"'
LISTENING = (
    "adapters/handlers/grpc/server.go",
    "adapters/handlers/rest/clusterapi/grpc/server.go",
    "adapters/handlers/rest/clusterapi/serve.go",
)
"""Where the source opens a port on every interface without a setting to change that."""
PORTS = (
    "GRPC_PORT",
    "CLUSTER_GOSSIP_BIND_PORT",
    "CLUSTER_DATA_BIND_PORT",
    "RAFT_PORT",
    "RAFT_INTERNAL_RPC_PORT",
)
START = 'set -a; . "$0"; exec "$@"'


class WeaviateServer(Server):
    """One node with a key, built to listen on loopback only; a given program may do otherwise."""

    name = "weaviate"
    how = (
        "`bakeoff servers up weaviate --install` builds it with Go 1.25 or later (5 minutes on 2 cores, 2 GB of "
        "downloads and cache), or set BAKEOFF_WEAVIATE_SERVER to a `weaviate`."
    )
    ports = 1 + len(PORTS)

    def find(self) -> Path | None:
        program = self.folder / "bin" / "weaviate-loopback"
        return program if program.exists() else given_program(self.name, "weaviate")

    def install(self) -> None:
        go = shutil.which("go")
        if go is None:
            raise SettingError("weaviate needs `go` of 1.25 or later on the PATH: https://go.dev/dl.")
        self.folder.mkdir(parents=True, exist_ok=True)
        module = json.loads(
            finish([go, "mod", "download", "-json", MODULE], self.folder, None, "go mod download")
        )
        source = self.folder / "source"
        _copy_source(Path(module["Dir"]), source)
        _listen_here(source)
        program = self.folder / "bin" / "weaviate-loopback"
        built = [go, "build", "-trimpath", "-ldflags=-s -w", "-o", str(program), "./cmd/weaviate-server"]
        finish(["env", "CGO_ENABLED=0", *built], source, None, "go build")
        shutil.rmtree(source)

    def prepare(self, site: Site) -> None:
        path = self._variables(site)
        path.touch(0o600)
        pairs = {
            **_fixed_settings(site),
            **{name: str(port) for name, port in zip(PORTS, site.ports[1:], strict=True)},
        }
        lines = (f"{name}={shlex.quote(value)}\n" for name, value in pairs.items())
        path.write_text("".join(lines), encoding="utf-8")

    def command(self, site: Site) -> list[str]:
        started = [str(site.program), "--scheme", "http", "--host", HOST, "--port", str(site.port)]
        return ["/bin/sh", "-c", START, str(self._variables(site)), *started]

    def version(self, site: Site) -> str:
        _get(site, "/v1/.well-known/ready")
        return f"Weaviate {json.loads(_get(site, '/v1/meta'))['version']}"

    def settings(self, site: Site) -> dict[str, str]:
        return {
            "BAKEOFF_WEAVIATE_URL": f"{site.http}?grpc={site.ports[1]}",
            "BAKEOFF_WEAVIATE_KEY": site.password,
        }

    def _variables(self, site: Site) -> Path:
        return site.data / "variables"


def _copy_source(original: Path, source: Path) -> None:
    """A writable and removable copy, unlike Go's own."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(original, source, copy_function=shutil.copyfile)
    for folder in (source, *(path for path in source.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _listen_here(source: Path) -> None:
    """Patch the source to open its ports on loopback; raises for an unknown release."""
    for name in LISTENING:
        path = source / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text.count(EVERYWHERE) != 1:
            raise SettingError(f"weaviate: {name} of {MODULE} does not open a port in the expected way.")
        path.write_text(text.replace(EVERYWHERE, EVERYWHERE.replace(":%d", f"{HOST}:%d")), encoding="utf-8")


def _get(site: Site, path: str) -> bytes:
    """Send a request with the server's key."""
    line = HTTPConnection(HOST, site.port, timeout=5)
    try:
        line.request("GET", path, headers={"Authorization": f"Bearer {site.password}"})
        answer = line.getresponse()
        reply = answer.read()
    finally:
        line.close()
    if answer.status != 200:
        raise NotYetError(f"HTTP {answer.status}: {reply[:200].decode(errors='replace')}")
    return reply


def _fixed_settings(site: Site) -> dict[str, str]:
    """Settings independent of ports: one node, a key, no outgoing calls."""
    return {
        "PERSISTENCE_DATA_PATH": str(site.data / "data"),
        "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
        "AUTHENTICATION_APIKEY_ENABLED": "true",
        "AUTHENTICATION_APIKEY_ALLOWED_KEYS": site.password,
        "AUTHENTICATION_APIKEY_USERS": "bakeoff",
        "CLUSTER_BASIC_AUTH_USERNAME": "bakeoff",
        "CLUSTER_BASIC_AUTH_PASSWORD": site.password,
        "CLUSTER_HOSTNAME": "bakeoff",
        "CLUSTER_ADVERTISE_ADDR": HOST,
        "CLUSTER_BIND_ADDR": HOST,
        "RAFT_BOOTSTRAP_EXPECT": "1",
        "DEFAULT_VECTORIZER_MODULE": "none",
        "API_BASED_MODULES_DISABLED": "true",
        "DISABLE_TELEMETRY": "true",
        "GO_PROFILING_DISABLE": "true",
    }
