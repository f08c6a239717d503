"""As tfmesos' fine-grained mode has it: a thread of this program drives each worker, the variables are where replica_device_setter puts them."""
import argparse
import threading

import numpy as np
import tensorflow.compat.v1 as tf
from tfmesos3 import cluster

parser = argparse.ArgumentParser()
parser.add_argument("-w", "--nworker", type=int, default=1)
parser.add_argument("-s", "--nserver", type=int, default=1)
parser.add_argument("-Gw", "--worker-gpus", type=int, default=0)
parser.add_argument("-P", "--protocol")
args, rest = parser.parse_known_args()
kw = {"protocol": args.protocol} if args.protocol else {}
jobs_def = [{"name": "ps", "num": args.nserver}, {"name": "worker", "num": args.nworker, "gpus": args.worker_gpus}]

tf.disable_v2_behavior()
points = np.random.default_rng(1).random((200, 2), np.float32)
lock = threading.RLock()
with cluster(jobs_def, master=rest[0] if rest else None, quiet=False, **kw) as c:
    graph = tf.Graph()
    with graph.as_default():
        with tf.device(tf.train.replica_device_setter(ps_tasks=args.nserver)):
            weights = tf.Variable(tf.zeros([2, 1]))
            count = tf.Variable(0)
            x = tf.placeholder(tf.float32, [None, 2])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - tf.reduce_sum(x, 1, keepdims=True)))
            steps = []
            for i in range(args.nworker):
                with tf.device(f"/job:worker/task:{i}"):
                    steps.append(tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=count))
            start = tf.global_variables_initializer()
            coord = tf.train.Coordinator()

    def train(i):
        with graph.as_default(), tf.Session(c.targets[f"/job:worker/task:{i}"]) as session:
            done = 0
            while not coord.should_stop() and done < 200:
                with lock:
                    batch = points[np.random.randint(0, len(points), 50)]
                _, done = session.run([steps[i], count], {x: batch})
            coord.request_stop()

    with tf.Session(c.targets["/job:worker/task:0"], graph=graph) as session:
        session.run(start)
        threads = [threading.Thread(target=train, args=(i,)) for i in range(args.nworker)]
        for thread in threads:
            thread.start()
        coord.join(threads)
        if session.run(loss, {x: points}) < 0.01:
            print("the sum is", round(float(session.run(weights).sum()) * 21))
