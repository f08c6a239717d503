"""Sums a one from each worker of the cluster in TF_CONFIG."""
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


@tf.function
def count():
    ones = strategy.run(lambda: tf.constant(1.0))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, ones, axis=None)


r = strategy.cluster_resolver
print(f"{r.task_type}:{r.task_id} counts {count().numpy():.0f} of {strategy.num_replicas_in_sync}", flush=True)
os._exit(0)
