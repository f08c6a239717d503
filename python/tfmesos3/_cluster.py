"""A cluster of TensorFlow servers, from its start to its end."""
from __future__ import annotations

import atexit
import dataclasses
import json
import logging
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Type, Union

from . import _spec
from ._child import GRACE, Child, find_scheduler, logger
from ._errors import NotReadyError, TfmesosError
from ._spec import Job, Jobs

# Seconds between two looks for the cluster file. The standard library cannot wait for a file, and the servers take longer
# to come up than this by far; the end of the scheduler is noticed at once.
_LOOK = 0.05


@dataclasses.dataclass(frozen=True)
class Task:
    """One server as it was when asked for. addr and port are None until it has told them; port is text, as in tfmesos2."""

    mesos_task_id: str
    job_name: str
    task_index: int
    cpus: float
    mem: float
    gpus: float
    state: str
    initialized: bool
    addr: Optional[str] = None
    port: Optional[str] = None
    hostname: Optional[str] = None


class Tasks(Dict[str, Task]):
    """The tasks by their Mesos task_id. It may be called, so that get_tasks does as a property, which it is in tfmesos2, and as a method."""

    def __call__(self) -> "Tasks":
        return self


class Cluster:
    """A cluster that has been started. Use it as a context manager, or call wait_until_ready() and shutdown()."""

    def __init__(self, spec: Mapping[str, Any], jobs: List[Job], flags: List[str], env: Mapping[str, str], readiness_timeout: float) -> None:
        self.name: str = spec["name"]
        self._jobs = jobs
        self._env = env
        self._timeout = readiness_timeout
        self._program = find_scheduler(os.environ)
        self._answer: Dict[str, Any] = {}
        self._owner = os.getpid()
        self._closing = threading.Lock()
        self._closed = False
        self._directory = tempfile.mkdtemp(prefix="tfmesos3-")
        self._file = os.path.join(self._directory, "cluster.json")
        argv = [self._program, "run", "-", "--cluster-file", self._file, "--grace", f"{GRACE:g}s", *flags]
        try:
            self._child = Child(argv, env, json.dumps(spec), self._directory)
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        atexit.register(self.shutdown)

    @property
    def cluster_def(self) -> Dict[str, List[str]]:
        """Job name to the addresses of its servers, in order of task_index; empty until all are ready."""
        self._ready()
        return {job: list(addresses) for job, addresses in self._answer.get("cluster_def", {}).items()}

    @property
    def targets(self) -> Dict[str, str]:
        """/job:worker/task:0 to grpc://HOST:PORT, for each server; empty until all are ready."""
        self._ready()
        return dict(self._answer.get("targets", {}))

    @property
    def get_tasks(self) -> Tasks:
        """All tasks as the scheduler knows them now; empty while it does not answer yet."""
        tasks = Tasks()
        for status in self._status().get("tasks", []):
            name, _, index = status["task"].partition(":")
            job = next((job for job in self._jobs if job.name == name and job.start <= int(index) < job.num), Job(name, 0))
            addr, _, port = status.get("address", "").rpartition(":")
            task_id = status.get("task_id") or status["task"]
            tasks[task_id] = Task(
                task_id, name, int(index), job.cpus, job.mem, job.gpus, status.get("state", ""), status.get("phase") == "serving",
                addr or None, port or None, status.get("hostname"),
            )
        return tasks

    def wait_until_ready(self) -> None:
        """Waits until all servers answer. Raises SchedulerError when the cluster has ended, and NotReadyError after readiness_timeout
        seconds; it then goes on until shutdown()."""
        deadline = time.monotonic() + self._timeout
        while not self._ready():
            left = deadline - time.monotonic()
            if self._closed:
                raise TfmesosError(f"{self.name}: it was shut down before it was ready")
            if left <= 0:
                raise NotReadyError(self._why_not_ready())
            if self._child.wait(min(_LOOK, left)) and not self._ready():
                raise self._child.error()

    def shutdown(self) -> None:
        """Ends the cluster and waits until it has ended. Harmless when it has."""
        if os.getpid() != self._owner:
            return  # a fork of ours ends, with all that we registered: the cluster is not its own
        with self._closing:
            if self._closed:
                return
            self._child.stop()
            self._closed = True
            shutil.rmtree(self._directory, ignore_errors=True)
            atexit.unregister(self.shutdown)

    def __enter__(self) -> "Cluster":
        try:
            self.wait_until_ready()
        except BaseException:
            self.shutdown()
            raise
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        early = self._child.error() if not self._closed and self._child.ended() else None
        self.shutdown()
        if early is None:
            return
        if error is None:
            raise early
        logger.error("the cluster ended before its block did: %s", early)

    def _ready(self) -> bool:
        """Says whether the cluster file has been there. It is there whole or not at all."""
        if not self._answer:
            try:
                with open(self._file, encoding="utf-8") as file:
                    self._answer = json.load(file)
            except FileNotFoundError:
                pass
        return bool(self._answer)

    def _status(self) -> Dict[str, Any]:
        done = subprocess.run(
            [self._program, "status", self.name, "-o", "json"], env=self._env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30
        )
        answer: Dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return answer

    def _why_not_ready(self) -> str:
        status = self._status()
        ready = f"{status['ready']} of {status['total']} tasks were ready" if "total" in status else "no task was ready"
        why = status.get("why") or self._child.last_line()
        return f"{self.name}: not ready within {self._timeout:g} s: {ready}; {why}"


def cluster(
    jobs: Jobs,
    client_ip: Optional[str] = None,
    port: Optional[int] = None,
    *,
    volumes: Optional[Mapping[str, str]] = None,
    env: Optional[Mapping[str, object]] = None,
    loglevel: Union[int, str] = logging.INFO,
    containerizer_type: Optional[str] = None,
    force_pull_image: bool = False,
    fetcher: Optional[Mapping[str, object]] = None,
    gpu_vendor: Optional[str] = None,
    extra_config: Optional[Mapping[str, object]] = None,
    readiness_timeout: float = 600,
    verify_ssl: Optional[bool] = None,
    master: Optional[str] = None,
    name: Optional[str] = None,
    role: Optional[str] = None,
    quiet: bool = False,
    protocol: Optional[str] = None,
    forward_addresses: Optional[Mapping[str, object]] = None,
) -> Cluster:
    """Starts TensorFlow servers and returns their Cluster at once; its with block begins when all of them answer.

    jobs: a Job, a dict of its arguments, or a list of those.
    master: the Mesos masters, one, several with commas, or zk://…; default MESOS_MASTER. Without one the servers are processes
    of this machine. verify_ssl: check their certificates; default MESOS_VERIFY_SSL.
    client_ip, port: where tasks reach the scheduler; default: the address used towards the master, and 11000 or a free port.
    volumes: path on the agent to path in the container. env: variables of the servers; None takes ours.
    containerizer_type: DOCKER or MESOS. The image is that of DOCKER_IMAGE.
    readiness_timeout: seconds until wait_until_ready gives up.
    loglevel: of the logger tfmesos3, which has the scheduler's lines; with DEBUG those of the tasks, too.
    role: with Mesos; default MESOS_FRAMEWORK_ROLE.
    quiet: show nothing of the logger tfmesos3 where the program has not set up logging.
    protocol: grpc. forward_addresses: none.
    name: of the cluster, for `scheduler status NAME`; default: that of the script, and six digits.

    Raises UnsupportedError for what this version does not do.
    """
    given = _spec.parts(_spec.job_list(jobs))
    address = _spec.master_address(master, os.environ)
    _spec.refuse_what_is_not_done(
        given, os.environ, address, containerizer_type, force_pull_image, fetcher, gpu_vendor, extra_config, protocol, forward_addresses
    )
    spec = _spec.build(name or _invent_name(), given, volumes, env, containerizer_type, fetcher, force_pull_image)
    _log_at(loglevel, quiet)
    if not address:
        logger.info("no Mesos master in MESOS_MASTER or master=: running on this machine (--local)")
        if client_ip is not None:
            logger.info("client_ip=%s is not used: on one machine tasks call 127.0.0.1", client_ip)
    flags = _spec.flags(not address, client_ip, port)
    return Cluster(spec, given, flags, _spec.environment(os.environ, address, sys.executable, verify_ssl, role), readiness_timeout)


def _invent_name() -> str:
    """Returns SCRIPT-6hex, in the letters that names of clusters have."""
    script = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    base = re.sub(r"[^a-z0-9]+", "-", script.lower()).strip("-")[:30].rstrip("-")
    return f"{base or 'python'}-{secrets.token_hex(3)}"


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Shows our lines as long as nobody has set up logging, as tfmesos2 does; a library has no say in the rest of it."""

    def handle(self, record: logging.LogRecord) -> bool:
        return not logging.getLogger().handlers and bool(super().handle(record))


def _log_at(level: Union[int, str], quiet: bool) -> None:
    logger.setLevel(level)
    for handler in [handler for handler in logger.handlers if quiet and isinstance(handler, _Stderr)]:
        logger.removeHandler(handler)
    if not quiet and not any(isinstance(handler, _Stderr) for handler in logger.handlers):
        handler = _Stderr()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s: %(message)s"))
        logger.addHandler(handler)
