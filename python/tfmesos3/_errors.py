"""What can go wrong, as exceptions. All of them are TfmesosError."""
from __future__ import annotations

from typing import Sequence


class TfmesosError(RuntimeError):
    """The base of all errors of this package. A RuntimeError, since tfmesos2 raises those."""


class UnsupportedError(TfmesosError, ValueError):
    """An argument asks for what this version cannot do; nothing was started."""

    def __init__(self, argument: str, why: str) -> None:
        super().__init__(f"{argument}: {why}")
        self.argument = argument


class SchedulerNotFoundError(TfmesosError):
    """There is no scheduler program to start."""


class SchedulerError(TfmesosError):
    """The scheduler ended by itself: it refused the cluster, or a task failed.

    exit_code: its exit code, or minus the number of the signal that killed it.
    last_line: the line in which it says why.
    log: its last lines, with those of the tasks among them.
    """

    def __init__(self, message: str, exit_code: int, last_line: str, log: Sequence[str]) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.last_line = last_line
        self.log = list(log)


class NotReadyError(TfmesosError, TimeoutError):
    """The servers did not all answer within readiness_timeout."""
