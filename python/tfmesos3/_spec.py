"""From the arguments of cluster() to the scheduler's spec and flags. Starts nothing and reads no files."""
from __future__ import annotations

import dataclasses
import os
from typing import Any, Iterable, List, Mapping, Optional, Union

from ._errors import UnsupportedError


@dataclasses.dataclass
class Job:
    """A number of like tasks, each a tf.distribute.Server.

    name: the name TensorFlow knows them by, as in /job:worker/task:0; num: how many; cpus, mem (in MiB) and gpus: what each gets.
    start: the index of the first, for a Job that goes on with another of its name; num is then where its indexes end: with start=1 and
    num=3 it has the tasks 1 and 2. Jobs of one name without start follow each other.
    """

    name: str
    num: int
    cpus: float = 1.0
    mem: float = 1024.0
    gpus: float = 0
    start: int = 0


Jobs = Union[Job, Mapping[str, Any], Iterable[Union[Job, Mapping[str, Any]]]]


def job_list(jobs: Jobs) -> List[Job]:
    """Returns one job or many, each given as a Job or as its arguments, as a list of Jobs."""
    if isinstance(jobs, (Job, Mapping)):
        jobs = [jobs]
    return [job if isinstance(job, Job) else _job_of(job) for job in jobs]


def _job_of(fields: Mapping[str, Any]) -> Job:
    given = dict(fields)
    if given.pop("cmd", None):
        raise UnsupportedError("cmd", f"job {given.get('name')}: this package starts servers; for programs in tasks there is `scheduler run`")
    return Job(**given)


def parts(jobs: List[Job]) -> List[Job]:
    """Returns the jobs with those of one name behind each other, each with its start and with num where it ends; what is alike is one.

    Raises UnsupportedError where the indexes of a name do not go from 0 without a gap, as TensorFlow counts addresses.
    """
    named: dict[str, List[Job]] = {}
    for job in jobs:
        before = named.setdefault(job.name, [])
        end = before[-1].num if before else 0
        part = job if job.start else dataclasses.replace(job, start=end, num=end + job.num)
        if job.start < 0:
            raise UnsupportedError("start", f"job {job.name} begins at {job.start}: indexes of tasks begin at 0")
        if job.start and part.num <= part.start:  # where indexes end before they begin there are none
            part = dataclasses.replace(part, start=end, num=end)
        if part.start != end:
            has = f"the jobs of that name before it end with {end - 1}" if end else "no job before it has that name"
            raise UnsupportedError("start", f"job {job.name} begins at {job.start}: {has}, and indexes have no gaps")
        if before and (before[-1].num == before[-1].start or part == dataclasses.replace(before[-1], start=end, num=part.num)):
            part = dataclasses.replace(part, start=before.pop().start)
        if not before or part.num != part.start:
            before.append(part)
    return [part for before in named.values() for part in before]


def build(
    name: str,
    jobs: List[Job],
    volumes: Optional[Mapping[str, str]],
    env: Optional[Mapping[str, object]],
    containerizer_type: Optional[str],
    fetcher: Optional[Mapping[str, object]] = None,
    force_pull_image: bool = False,
) -> dict[str, Any]:
    """Returns the spec of a cluster of servers, for the scheduler to judge: it knows all the rules, and says what breaks one."""
    spec: dict[str, Any] = {"name": name, "jobs": [_job(job) for job in jobs]}
    if containerizer_type is not None:
        spec["containerizer"] = containerizer_type
    if volumes:
        spec["volumes"] = [f"{host}:{container}" for host, container in volumes.items()]
    if fetcher:
        spec["uris"] = [{"value": uri, "extract": bool(extract)} for uri, extract in fetcher.items()]
    if force_pull_image:
        spec["force_pull_image"] = True
    if env:
        # What runs in the tasks is not this Python: its paths would mislead theirs. tfmesos2 leaves this one out, too.
        spec["env"] = {key: _text(value) for key, value in env.items() if key != "PYTHONPATH"}
    return spec


def _job(job: Job) -> dict[str, Any]:
    start = {"start": job.start} if job.start else {}
    resources = {"cpus": _number(job.cpus), "mem": _number(job.mem), "gpus": _number(job.gpus)}
    return {"name": job.name, "num": job.num - job.start, **start, **resources}


def _number(value: float) -> float:
    """Writes 2.0 as 2, which is a whole number to everybody."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text(value: object) -> Optional[str]:
    """None stays None: the scheduler then takes the value of its own environment, which is ours."""
    return None if value is None else str(value)


def refuse_what_is_not_done(
    jobs: List[Job],
    environ: Mapping[str, str],
    master: str,
    containerizer_type: Optional[str],
    force_pull_image: bool,
    fetcher: Optional[Mapping[str, object]],
    gpu_vendor: Optional[str],
    extra_config: Optional[Mapping[str, object]],
    protocol: Optional[str] = None,
    forward_addresses: Optional[Mapping[str, object]] = None,
) -> None:
    """Raises UnsupportedError for the first argument whose effect in tfmesos2 this version does not have."""
    docker = (containerizer_type or environ.get("TFMESOS_CONTAINERIZER") or "DOCKER") == "DOCKER"
    if force_pull_image and not master:
        raise UnsupportedError("force_pull_image", "on one machine there are no images; give a Mesos master")
    if fetcher and not master:
        raise UnsupportedError("fetcher", "on one machine nothing is fetched for tasks; give a Mesos master, or read the files where they are")
    if extra_config:
        raise UnsupportedError("extra_config", "it had no effect in tfmesos2, and has none here; leave it out")
    if protocol not in (None, "grpc"):
        raise UnsupportedError("protocol", f"{protocol}: TensorFlow's servers here speak grpc")
    if forward_addresses:
        raise UnsupportedError("forward_addresses", "what tasks write is logged by the logger tfmesos3; loglevel='DEBUG' shows it")
    if gpu_vendor is not None and any(job.gpus for job in jobs):
        if gpu_vendor != "nvidia":
            raise UnsupportedError("gpu_vendor", f"{gpu_vendor}: this version gives tasks devices of nvidia alone")
        if master and docker:
            raise UnsupportedError("gpu_vendor", "with DOCKER nothing gives a container its devices; use containerizer_type='MESOS'")


def switched_on(value: str) -> bool:
    """Reads a switch as the scheduler does: what does not say no is a yes."""
    return value.strip().lower() not in ("", "0", "false", "no", "off")


def master_address(master: Optional[str], environ: Mapping[str, str]) -> str:
    """Returns where the Mesos masters are, or "" to run on this machine."""
    if switched_on(environ.get("TFMESOS_LOCAL", "")) and master is None:
        return ""
    return (environ.get("MESOS_MASTER", "") if master is None else master).strip()


def flags(local: bool, client_ip: Optional[str], port: Optional[int]) -> List[str]:
    """Returns the flags of `scheduler run` that stand for arguments. On one machine all calls go over its loopback."""
    given = ["--local"] if local else []
    if client_ip is not None and not local:
        given += ["--advertise", client_ip]
    if port is not None:
        given += ["--port", str(port)]
    return given


def environment(environ: Mapping[str, str], master: str, python: str, verify_ssl: Optional[bool] = None, role: Optional[str] = None) -> dict[str, str]:
    """Returns the environ of the scheduler: ours, with the master said once, and for tasks on this machine our Python first."""
    env = {key: value for key, value in environ.items() if key not in ("MESOS_MASTER", "TFMESOS_LOCAL", "TFMESOS_CLUSTER_FILE")}
    if role is not None:
        env["MESOS_FRAMEWORK_ROLE"] = role
    if master:
        env["MESOS_MASTER"] = master
        if verify_ssl is not None:
            env["MESOS_VERIFY_SSL"] = str(verify_ssl).lower()
    elif python:
        env["PATH"] = os.pathsep.join(filter(None, [os.path.dirname(python), env.get("PATH", "")]))
    return env
