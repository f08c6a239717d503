"""Jobs as one can write them in tfmesos2: Job objects, counts of 0, and parts of a job that go on where another ends (start)."""
import json
import os

import tensorflow as tf
from tfmesos3 import Job, cluster

jobs = [Job("ps", 1), Job("worker", 1), Job(name="ps", num=2, start=1, cpus=0.5), Job(name="chief", num=0), Job("worker", 3, start=1)]
with cluster(jobs) as c:
    os.environ["TF_CONFIG"] = json.dumps({"cluster": c.cluster_def})
    print("jobs:", {job: len(addresses) for job, addresses in c.cluster_def.items()})
    print("cpus:", " ".join(sorted(f"{task.job_name}:{task.task_index}={task.cpus}" for task in c.get_tasks.values())))
    print("targets:", " ".join(sorted(c.targets)))
    strategy = tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    with strategy.scope():
        product = tf.matmul(tf.constant([[2, 3], [1, 2]]), tf.constant([[6], [10]]))
    print("the sum is", int(product.numpy()[0][0]))
