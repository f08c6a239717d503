"""Trains a step on a cluster: reads {"servers": [TF_CONFIG, …], "coordinator": TF_CONFIG} from stdin."""
import json
import os
import sys

import tensorflow as tf

configs = json.load(sys.stdin)
# Servers in one process share its threads: with fewer than there are servers they wait for one another for ever.
options = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=2 * len(configs["servers"]))
servers = []
for config in configs["servers"]:
    os.environ["TF_CONFIG"] = config
    r = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    servers.append(tf.distribute.Server(r.cluster_spec(), job_name=r.task_type, task_index=r.task_id, config=options))
os.environ["TF_CONFIG"] = configs["coordinator"]
print("connecting", flush=True)
strategy = tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    total = tf.Variable(0.0)


@tf.function
def step():
    total.assign_add(1.0)


for _ in range(10):
    coordinator.schedule(step)
coordinator.join()
print(f"total {total.numpy():.0f}, on {total.device}", flush=True)
os._exit(0)  # a server has no end of its own
