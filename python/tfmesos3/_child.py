"""The scheduler program as a child that does not outlive us."""
from __future__ import annotations

import collections
import logging
import os
import re
import shutil
import subprocess
import threading
from typing import Deque, List, Mapping, Optional

from ._errors import SchedulerError, SchedulerNotFoundError

logger = logging.getLogger("tfmesos3")

GRACE = 20.0  # seconds the scheduler may take to end a cluster
_PATIENCE = (GRACE + 5, 5, 5)  # seconds after the first signal, after the second, which ends all at once, and after SIGKILL
_LAST_WORDS = 5.0  # seconds to read what an ended scheduler has said
_KEPT_LINES = 200

# Ends the scheduler when we die without a word: the end of our pipe then closes, whatever killed us. (A signal of the kernel,
# PR_SET_PDEATHSIG, comes when the thread ends that started the child, which need not be the main one.) The scheduler says a
# last word while it ends; this reads it, since nobody else does and a broken pipe would end it before the cluster.
# A line instead means that all is done.
_GUARD = 'read -r _ || { kill -TERM "$1"; cat <&1 >/dev/null; rm -f "$2/cluster.json"; rmdir "$2"; }'

_TASK_OUTPUT = re.compile(r"[A-Za-z]\w*:\d+ +\| ")
_PLACE_IN_SPEC = re.compile(r"standard input:\d+:\d+: ")
_TIME = re.compile(r"\d\d:\d\d:\d\d\.\d{3} ")
_EXIT_CODE = re.compile(r"; exit code \d+$")


def find_scheduler(environ: Mapping[str, str]) -> str:
    """Returns the path of the scheduler: that of TFMESOS_SCHEDULER, else the one in the wheel, else the one in PATH."""
    named = environ.get("TFMESOS_SCHEDULER")
    bundled = os.path.join(os.path.dirname(__file__), "bin", "scheduler")
    if named:
        if not os.access(named, os.X_OK):
            raise SchedulerNotFoundError(f"TFMESOS_SCHEDULER={named}: there is no such program")
        return named
    found = bundled if os.access(bundled, os.X_OK) else shutil.which("scheduler", path=environ.get("PATH"))
    if found is None:
        raise SchedulerNotFoundError("there is no scheduler: install the wheel, which has one, or name one with TFMESOS_SCHEDULER")
    return found


class Child:
    """A running scheduler, its lines in our log, and the guard that ends it when we die."""

    def __init__(self, argv: List[str], env: Mapping[str, str], spec: str, directory: str) -> None:
        self._lines: Deque[str] = collections.deque(maxlen=_KEPT_LINES)
        # A session of its own: Ctrl-C is for us, and the cluster ends when we say so.
        self._process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "tfmesos3-guard", str(self._process.pid), directory],
                stdin=subprocess.PIPE,
                stdout=self._process.stdout,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._give(spec)  # only now: without it the scheduler starts nothing, should we die before there is a guard
        except BaseException:
            self._process.kill()
            self._process.communicate()
            raise
        self._reader = threading.Thread(target=self._read, name="tfmesos3-log", daemon=True)
        self._reader.start()

    def _give(self, spec: str) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as stdin:
                stdin.write(spec)
        except BrokenPipeError:
            pass  # it has ended already, and its last line says why

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                line = line.rstrip()
                self._lines.append(line)
                logger.log(level_of(line), "%s", without_time(line))  # a log has times of its own

    def wait(self, timeout: float) -> bool:
        """Waits for the end of the scheduler, for at most this many seconds, and says whether it has come."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        self._dismiss_guard()
        return True

    def ended(self) -> bool:
        """Says whether the scheduler has ended."""
        if self._process.poll() is None:
            return False
        self._dismiss_guard()
        return True

    def last_line(self) -> str:
        """Returns what the scheduler said last, without the output of tasks."""
        return without_time(last_line(list(self._lines)))

    def error(self) -> SchedulerError:
        """Returns why the scheduler has ended, in its own words."""
        self._reader.join(_LAST_WORDS)
        lines = list(self._lines)
        last = last_line(lines)
        problems = [line[match.end() :] for line in lines if (match := _PLACE_IN_SPEC.match(line))]
        if not _EXIT_CODE.search(last):
            last = f"{last or 'the scheduler ended without a word'}; exit code {self._process.returncode}"
        return SchedulerError("\n".join([*problems, last]), self._process.returncode, last, lines)

    def stop(self) -> None:
        """Ends the scheduler, and so the cluster, and waits until it has ended."""
        for end, patience in zip((self._process.terminate, self._process.terminate, self._process.kill), _PATIENCE):
            if self.ended():
                break
            end()
            self.wait(patience)
        self._reader.join(_LAST_WORDS)

    def _dismiss_guard(self) -> None:
        """Lets the guard go as soon as the scheduler is known to have ended: from then on its pid may be another's."""
        assert self._guard.stdin is not None
        if self._guard.stdin.closed:
            return
        try:
            with self._guard.stdin as stdin:
                stdin.write(b"\n")
        except BrokenPipeError:
            pass
        self._guard.wait()


def level_of(line: str) -> int:
    """Returns the level at which a line of the scheduler is logged. Output of tasks and the password of the run's own Redis are
    for those who ask."""
    if _TASK_OUTPUT.match(line) or "redis-cli -u" in line:
        return logging.DEBUG
    if " level=ERROR " in line:
        return logging.ERROR
    return logging.WARNING if " level=WARN " in line else logging.INFO


def without_time(line: str) -> str:
    """Returns a line of the scheduler without the time at its beginning."""
    match = _TIME.match(line)
    return line[match.end() :] if match else line


def last_line(lines: List[str]) -> str:
    """Returns the line that says how the run ended, else the last one that is not the output of a task, else ""."""
    said = [line for line in lines if line and not _TASK_OUTPUT.match(line)]
    ends: Optional[str] = next((line for line in reversed(said) if _EXIT_CODE.search(line)), None)
    return ends or (said[-1] if said else "")
