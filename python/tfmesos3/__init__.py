"""TensorFlow clusters on Apache Mesos, ClusterD, or this machine, from Python.

    from tfmesos3 import cluster

    with cluster([{"name": "ps", "num": 1}, {"name": "worker", "num": 2}]) as c:
        print(c.targets)

`cluster` has the arguments and results of tfmesos2's. It starts the scheduler program, which the wheel carries, and ends it with the
block, or with this process, whatever ends that.
"""
from ._cluster import Cluster, Task, Tasks, cluster
from ._errors import NotReadyError, SchedulerError, SchedulerNotFoundError, TfmesosError, UnsupportedError
from ._spec import Job

__all__ = [
    "Cluster",
    "Job",
    "NotReadyError",
    "SchedulerError",
    "SchedulerNotFoundError",
    "Task",
    "Tasks",
    "TfmesosError",
    "UnsupportedError",
    "cluster",
]
