"""As tfmesos' script of two constants has it: the master as an argument, two jobs as dicts, a session on one worker that computes on the other."""
import sys

import tensorflow.compat.v1 as tf
from tfmesos3 import cluster

tf.disable_eager_execution()
jobs_def = [{"name": "ps", "num": 2}, {"name": "worker", "num": 2}]
with cluster(jobs_def, master=sys.argv[1] if len(sys.argv) > 1 else None, quiet=False) as c:
    with tf.device("/job:ps/task:0"):
        one = tf.constant(10)
    with tf.device("/job:ps/task:1"):
        other = tf.constant(32)
    with tf.device("/job:worker/task:1"):
        total = one + other
    with tf.Session(c.targets["/job:worker/task:0"]) as session:
        print("the sum is", session.run(total))
