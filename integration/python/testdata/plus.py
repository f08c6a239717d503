"""In-graph use: one session of this program on servers elsewhere."""
import tensorflow as tf
from tfmesos3 import cluster

tf.compat.v1.disable_eager_execution()
with cluster([{"name": "ps", "num": 1}, {"name": "worker", "num": 2}]) as c:
    with tf.device("/job:ps/task:0"):
        total = tf.constant(10) + tf.constant(32)
    with tf.compat.v1.Session(c.targets["/job:worker/task:1"]) as session:
        print("the sum is", session.run(total))
