"""Where a server works: kept from its last start, with new ports where others took them, reachable by its user."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from pathlib import Path

from bakeoff.fingerprint import fingerprint
from bakeoff.servers.base import Server, Site, free_ports, is_free
from bakeoff.servers.records import read_place, write_place

UNPRIVILEGED = "nobody"
SHARED = Path("/var/lib/bakeoff")
"""Where data goes when root starts an engine that refuses root, and root's own folders are closed to others."""


def choose_place(server: Server, program: Path) -> Site:
    """The place of a server, made where it is not there yet."""
    folder = server.folder
    user = UNPRIVILEGED if server.refuses_root and os.name == "posix" and os.geteuid() == 0 else None
    before = read_place(server.name)
    ports = before.ports if before and all(map(is_free, before.ports)) else free_ports(server.ports)
    password = before.password if before else secrets.token_urlsafe(24)
    data = before.data if before else _data_folder(folder, server.name, user)
    site = Site(folder, data, ports, password, program, user)
    _make(site)
    write_place(server.name, site)
    return site


def _data_folder(folder: Path, name: str, user: str | None) -> Path:
    if user is None or all(_open_to_others(parent) for parent in (folder, *folder.parents)):
        return folder / "data"
    return SHARED / f"{name}-{fingerprint(str(folder))[:12]}" / "data"


def _open_to_others(folder: Path) -> bool:
    return not folder.exists() or bool(folder.stat().st_mode & stat.S_IXOTH)


def _make(site: Site) -> None:
    site.data.mkdir(parents=True, exist_ok=True)
    site.data.chmod(0o700)
    if site.user is not None:
        shutil.chown(site.data, site.user)
