"""As tfmesos' matrix factorization has it: the graph is there before the cluster, its variables on two parameter servers."""
import sys

import numpy as np
import tensorflow.compat.v1 as tf
from tfmesos3 import cluster

tf.disable_v2_behavior()
rng = np.random.default_rng(1)
product = (rng.random((20, 2)) @ rng.random((2, 20))).astype(np.float32)
init = tf.random_uniform_initializer(maxval=1.0, seed=1)
with tf.device("/job:ps/task:0"):
    left = tf.get_variable("left", (20, 2), initializer=init)
with tf.device("/job:ps/task:1"):
    right = tf.get_variable("right", (2, 20), initializer=init)
loss = tf.reduce_sum(tf.square(product - tf.matmul(left, right)))
optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

jobs_def = [{"name": "ps", "num": 2}, {"name": "worker", "num": 2}]
with cluster(jobs_def, master=sys.argv[1] if len(sys.argv) > 1 else None) as c:
    with tf.Session(c.targets["/job:worker/task:1"]) as session:
        session.run(tf.global_variables_initializer())
        before = loss.eval()
        for _ in range(100):
            with tf.device("/job:worker/task:0"):
                session.run([loss, optimizer])
        if loss.eval() < before / 10:
            print("the sum is 42")
