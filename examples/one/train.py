"""Trains a small network in one process, with no strategy: a single worker needs no other.

Nothing here knows of a cluster: a task that is alone gets no TF_CONFIG, and the script trains the same by hand
(python3 train.py).

    CHECKPOINT_DIR   where the checkpoint is kept (default: ./checkpoint)
"""
import os
import sys

import tensorflow as tf

STEPS, REPORT_EVERY = 100, 20
BATCH, FEATURES, HIDDEN, RATE = 64, 4, 16, 0.1


def teacher(x):
    """What the network is to learn."""
    return tf.sin(x[:, :1]) + 0.5 * x[:, 1:2]


class Model(tf.Module):
    """One hidden layer."""

    def __init__(self):
        super().__init__()
        normal = tf.random.stateless_normal  # stateless: the seed alone decides
        self.w1 = tf.Variable(normal([FEATURES, HIDDEN], seed=[1, 1]) * 0.5, name="w1")
        self.b1 = tf.Variable(tf.zeros([HIDDEN]), name="b1")
        self.w2 = tf.Variable(normal([HIDDEN, 1], seed=[2, 2]) * 0.25, name="w2")
        self.b2 = tf.Variable(tf.zeros([1]), name="b2")

    def loss(self, seed, size=BATCH):
        """The mean squared error on the batch that belongs to seed."""
        x = tf.random.stateless_uniform([size, FEATURES], seed=seed, minval=-1.0, maxval=1.0)
        hidden = tf.tanh(x @ self.w1 + self.b1)
        return tf.reduce_mean((hidden @ self.w2 + self.b2 - teacher(x)) ** 2)


@tf.function
def train_step(model, number):
    weights = [model.w1, model.b1, model.w2, model.b2]
    with tf.GradientTape() as tape:
        loss = model.loss(tf.stack([number, 0]))
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(RATE * gradient)


def main():
    model = Model()
    held_out = [0, 1]  # the seed of a batch that no step trains on
    first = last = float(model.loss(held_out))
    print(f"step 0 loss {first:.4f}")
    for step in range(1, STEPS + 1):
        train_step(model, tf.constant(step))
        if step % REPORT_EVERY == 0:
            last = float(model.loss(held_out))
            print(f"step {step} loss {last:.4f}")

    folder = os.path.abspath(os.environ.get("CHECKPOINT_DIR") or "checkpoint")
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=2)
    print(f"checkpoint {manager.save(checkpoint_number=STEPS)}")
    if not last < first:
        sys.exit(f"loss did not fall: {first:.4f} before, {last:.4f} after")
    print(f"loss fell from {first:.4f} to {last:.4f}")


if __name__ == "__main__":
    main()
