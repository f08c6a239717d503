"""Adds two numbers that live on two parameter servers, on a worker, from a driver that is no part of the cluster."""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only; before TensorFlow is imported

import tensorflow as tf  # noqa: E402

tf.compat.v1.disable_eager_execution()

# {"/job:worker/task:0": "grpc://HOST:PORT", …}: the scheduler starts a driver once all of them answer.
targets = json.loads(os.environ["TFMESOS_TARGETS"])

with tf.device("/job:ps/task:0"):
    a = tf.constant(10)
with tf.device("/job:ps/task:1"):
    b = tf.constant(32)
with tf.device("/job:worker/task:1"):
    total = a + b

with tf.compat.v1.Session(targets["/job:worker/task:0"]) as session:
    print("10 + 32 =", session.run(total))
