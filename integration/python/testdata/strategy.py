"""The way of tfmesos2's examples: a coordinator here, by the cluster_def, and parameter servers and workers elsewhere."""
import json
import os
import sys

import tensorflow as tf
from tfmesos3 import Job, cluster

jobs = [Job("ps", 1, cpus=0.5, mem=512), Job(name="worker", num=2, cpus=0.5, mem=512)]
with cluster(jobs, client_ip=sys.argv[1] if len(sys.argv) > 1 else None, env={"TF_CPP_MIN_LOG_LEVEL": 2}) as c:
    os.environ["TF_CONFIG"] = json.dumps({"cluster": c.cluster_def})
    strategy = tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    with strategy.scope():
        start = tf.Variable(10)

    @tf.function
    def step():
        return start + 32

    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    result = coordinator.schedule(step)
    coordinator.join()
    print("the sum is", result.fetch())
    print("tasks:", sorted(f"{task.job_name}:{task.task_index} {task.state}" for task in c.get_tasks.values()))
