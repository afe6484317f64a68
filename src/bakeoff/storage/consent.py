"""Where keys and passwords may be sent: an experiment may come from anyone, so it alone never decides that.

A key may be sent to its provider, to this machine, or to an address from a source the user trusts as much as
the key's own. Anything else needs consent from outside the experiment: `--allow-host`, or BAKEOFF_ALLOW_HOSTS
in the environment. `.env` can't give that consent, because it may have come with the experiment.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from bakeoff.errors import ConsentError
from bakeoff.storage.environment import SettingSource, SettingValue, find_setting

HOSTS = "BAKEOFF_ALLOW_HOSTS"
KEYS = "BAKEOFF_ALLOW_KEYS"
CODE = "BAKEOFF_ALLOW_CODE"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432, "redis": 6379, "rediss": 6379}

PROVIDERS: dict[str, tuple[str, ...]] = {
    "OPENAI_API_KEY": ("https://api.openai.com",),
    "CO_API_KEY": ("https://api.cohere.com",),
    "VOYAGE_API_KEY": ("https://api.voyageai.com",),
    "JINA_API_KEY": ("https://api.jina.ai",),
    "BAKEOFF_PINECONE_KEY": ("https://api.pinecone.io", "https://*.pinecone.io"),
}
"""Providers' variables, each with the hosts its key may always be sent to."""


@dataclass(frozen=True, slots=True)
class Destination:
    """An address to send a secret to, and its source."""

    url: str
    source: SettingSource

    @property
    def host(self) -> str:
        """The name of the machine, without brackets or port."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def place(self) -> str:
        """The host and port, as `--allow-host` takes them."""
        at = urlsplit(self.url)
        port = at.port or PORTS.get(at.scheme)
        return f"{self.host}:{port}" if port else self.host


def allow(hosts: list[str], keys: list[str], code: list[str] | None = None) -> None:
    """Grant consent for this process and its children."""
    for variable, values in ((HOSTS, hosts), (KEYS, keys), (CODE, code or [])):
        if values:
            os.environ[variable] = ",".join((*_environment_list(variable), *values))


def allowed_keys() -> tuple[str, ...]:
    """Variables that the user allows an experiment to name."""
    return _environment_list(KEYS)


def require_code(module: str) -> None:
    """Raise unless the user allowed a module that only an experiment names: importing it runs its code."""
    package = module.partition(".")[0]
    if not {module, package}.isdisjoint(_environment_list(CODE)):
        return
    raise ConsentError(
        f"the experiment names code in the module {module}, which would run with your permissions. To "
        f"allow it, use, outside the experiment: --allow-code {package}, or {CODE}={package} in the "
        "environment."
    )


def key_for(name: str, destination: Destination) -> str:
    """The key in a variable for a server, '' if unset; raises ConsentError if it must not be sent there."""
    if not name:
        return ""
    if destination.source is SettingSource.EXPERIMENT and name not in (*PROVIDERS, *allowed_keys()):
        raise ConsentError(
            f"key_env names {name}, which is not a variable of a provider ({', '.join(sorted(PROVIDERS))}). If you "
            f"want its value to be sent to {destination.place}, allow it outside the experiment: --allow-key {name}, "
            f"or {KEYS}={name} in the environment."
        )
    setting = find_setting(name)
    if setting is not None and not _to_owner(name, destination.url):
        check(name, setting, destination)
    return setting.text.strip() if setting is not None else ""


def secret_for(name: str, destination: Destination) -> str | None:
    """A store's key or password for its server, None if unset; raises ConsentError if it must not be sent there."""
    setting = find_setting(name)
    if setting is None:
        return None
    if not _to_owner(name, destination.url):
        check(name, setting, destination)
    return setting.text


def check(name: str, setting: SettingValue, destination: Destination) -> None:
    """Raise if a secret would be sent to an address from a less trusted source, unless the user allowed the host."""
    if destination.source >= setting.source or destination.host in LOOPBACK or _is_allowed(destination):
        return
    raise ConsentError(
        f"the value of {name} would be sent to {destination.place}, an address from {destination.source.label}. If you "
        f"want that, allow it outside the experiment: --allow-host {destination.place}, or {HOSTS}={destination.place} "
        "in the environment."
    )


def _is_allowed(destination: Destination) -> bool:
    return not {destination.host, destination.place}.isdisjoint(
        one.lower() for one in _environment_list(HOSTS)
    )


def _to_owner(name: str, url: str) -> bool:
    at = urlsplit(url)
    return any(_is_same_origin(at.scheme, at.hostname or "", at.port, own) for own in PROVIDERS.get(name, ()))


def _is_same_origin(scheme: str, host: str, port: int | None, own: str) -> bool:
    at = urlsplit(own)
    known = at.hostname or ""
    same = host == known or (known.startswith("*.") and host.endswith(known[1:]))
    return same and scheme == at.scheme and (port or PORTS.get(scheme)) == (at.port or PORTS.get(at.scheme))


def _environment_list(variable: str) -> tuple[str, ...]:
    """Values of a list in the environment only: `.env` may have come with the experiment."""
    return tuple(one.strip() for one in os.environ.get(variable, "").split(",") if one.strip())
