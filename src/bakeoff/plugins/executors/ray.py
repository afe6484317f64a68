"""Runs work on a Ray cluster, or on a local one that lives as long as the run."""

from __future__ import annotations

import concurrent.futures
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Annotated, Any, ClassVar

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports unless the user enables them
os.environ.setdefault(
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"
)  # a worker without a GPU share still sees them

import ray
import ray.exceptions
from pydantic import Field

from bakeoff.errors import SettingError
from bakeoff.plugins._settings import Settings
from bakeoff.protocols import ANYWHERE, ResourceRequest
from bakeoff.storage.environment import get_setting
from bakeoff.storage.temp_dir import TempDir

ASK_SECONDS = 5.0
"""Maximum age of the cluster's core count, in seconds."""
KNOCK_SECONDS = 5.0
SENT_ON = ("BAKEOFF_HOME",)
"""Settings of this process that workers on other machines must share; never keys or passwords."""
SHARED = "BAKEOFF_CACHE"
"""If set, shards report their location, and every machine has its own home."""


class RayParams(Settings):
    """Which cluster, and how much of it to use."""

    address: Annotated[
        str | None,
        Field(
            pattern=r"^(auto|[^/:\s]+:\d{1,5})$",
            description="of a running cluster, as HOST:6379 or auto; none: one on this machine for the run",
        ),
    ] = None
    workers: Annotated[
        int | None, Field(ge=1, le=100_000, description="parallel shards; none: one per core")
    ] = None
    gpus: Annotated[
        float,
        Field(ge=0, le=8, description="GPUs per embedding worker, if available"),
    ] = 0.0
    object_store_mb: Annotated[
        int, Field(ge=100, description="object store memory of a cluster started for the run")
    ] = 200


class RayExecutor:
    """Runs work as Ray tasks without Ray's own retries, because the caller counts attempts."""

    version: ClassVar[str] = "1"
    Params = RayParams

    def __init__(self, params: RayParams) -> None:
        self._params = params
        self._lock = threading.Lock()
        self._started = self._started_here = False
        self._temporary: TempDir | None = None
        self._asked, self._cores, self._gpus = 0.0, 0, 0.0
        self._refs: dict[Future[object], ray.ObjectRef[object]] = {}

    @property
    def slots(self) -> int:
        """Number of parallel tasks; the requested number until the cluster is known."""
        wanted = self._params.workers
        if not self._started:
            return wanted or os.cpu_count() or 1
        self._ask()
        return min(wanted or self._cores, self._cores) or 1

    def start(self) -> str:
        """Join the cluster, or start one."""
        self._start()
        nodes = sum(bool(node["Alive"]) for node in ray.nodes())
        return f"{self.slots} workers on {nodes} node{'s' if nodes > 1 else ''}"

    def submit(
        self, work: Callable[..., object], *args: object, needs: ResourceRequest = ANYWHERE
    ) -> Future[object]:
        """Start a task on a node with the required resources."""
        self._start()
        gpus = self._params.gpus if needs.gpu and self._gpus else 0
        task = ray.remote(max_retries=0, num_cpus=needs.cpus, num_gpus=gpus)(_run)
        if needs.spread:
            task = task.options(scheduling_strategy="SPREAD")
        ref = task.remote(work, *args)
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._refs[future] = ref
        ref.future().add_done_callback(lambda ended: self._pass_result(future, ended))
        return future

    def as_completed(self, futures: Iterable[Future[object]]) -> Iterator[Future[object]]:
        """Yield futures as they complete."""
        return concurrent.futures.as_completed(futures)

    def cancel(self, future: Future[object]) -> None:
        """Cancel a task on any node."""
        ref = self._refs.get(future)
        if ref is not None:
            ray.cancel(ref)

    def close(self) -> None:
        """Leave the cluster; one that was started for the run is stopped."""
        with self._lock:
            if self._started and self._started_here:
                ray.shutdown()
            self._started = False
            self._forget()

    def _forget(self) -> None:
        if self._temporary is not None:
            self._temporary.close()
            self._temporary = None

    def _pass_result(self, future: Future[object], ended: Future[object]) -> None:
        self._refs.pop(future, None)
        fault = ended.exception()
        if fault is None:
            future.set_result(ended.result())
        else:
            cause = getattr(fault, "cause", None)  # an error in the work, not a lost worker
            future.set_exception(cause if isinstance(cause, Exception) else fault)

    def _start(self) -> None:
        with self._lock:
            if self._started:
                return
            if not ray.is_initialized():  # otherwise the user's own session, which is left running
                self._started_here = True
                try:
                    self._knock()
                    ray.init(**self._options(), log_to_driver=False, logging_level="error")
                except Exception as exc:  # Ray has no specific error for a node that does not start
                    ray.shutdown()  # stop what did start
                    self._forget()
                    raise SettingError(self._refusal_text(exc)) from exc
            self._started = True
            self._ask()

    def _knock(self) -> None:
        """Fail within seconds if nothing listens: Ray itself would retry for minutes."""
        if self._params.address not in (None, "auto"):
            host, port = str(self._params.address).rsplit(":", 1)
            socket.create_connection((host, int(port)), KNOCK_SECONDS).close()

    def _options(self) -> dict[str, object]:
        """Options of `ray.init`."""
        if self._params.address is not None:
            sent = () if get_setting(SHARED) else SENT_ON
            settings = {name: os.environ[name] for name in sent if name in os.environ}
            return {"address": self._params.address, "runtime_env": {"env_vars": settings}}
        self._temporary = TempDir("ray")
        return {
            "num_cpus": self._params.workers or os.cpu_count(),
            "object_store_memory": self._params.object_store_mb * 1_000_000,
            "include_dashboard": False,
            "_temp_dir": str(self._temporary.path / "r"),  # everyone may write there, but not get past ours
        }

    def _refusal_text(self, exc: Exception) -> str:
        where = f"at {self._params.address}" if self._params.address else "on this machine"
        reason = str(exc).strip().splitlines()[0].removesuffix(".")
        return f"no Ray cluster {where}: {reason}. Start one with: ray start --head, or leave address out."

    def _ask(self) -> None:
        """Refresh the size of the cluster; nodes come and go."""
        if time.monotonic() - self._asked > ASK_SECONDS:
            found = ray.cluster_resources()
            self._cores, self._gpus = int(found.get("CPU", 1)), found.get("GPU", 0.0)
            self._asked = time.monotonic()


def _run(work: Callable[..., object], *args: object) -> object:
    """Run work with as many threads as the task has cores: Ray sets OpenMP's, we the tokenizers'."""
    os.environ.setdefault("RAYON_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
    return work(*args)
