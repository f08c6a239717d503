"""Trains a small network on the cluster that TF_CONFIG describes, as its chief.

The parameters live on the ps tasks, the steps are computed by whichever worker is free (ParameterServerStrategy with a
ClusterCoordinator), and only this program decides anything. It exits 0 only if the loss fell.

    CHECKPOINT_DIR   where the checkpoint is kept (default: ./checkpoint); one that is there is taken up again
    STEPS            train up to this step (default: 200)
"""
import os
import sys

import tensorflow as tf

STEPS = int(os.environ.get("STEPS", "200"))
REPORT_EVERY, SAVE_EVERY = 20, 100
BATCH, FEATURES, HIDDEN, RATE = 64, 4, 16, 0.05
# Files are read and written here and not by the ps tasks, so that no folder has to be shared between machines.
HERE = tf.train.CheckpointOptions(experimental_io_device="/job:chief")


def teacher(x):
    """What the network is to learn."""
    return tf.sin(x[:, :1]) + 0.5 * x[:, 1:2] - 0.5 * x[:, 2:3] + 0.3 * x[:, 3:]


class Model(tf.Module):
    """One hidden layer. Its variables go to the ps tasks when it is built in a strategy's scope."""

    def __init__(self):
        super().__init__()
        normal = tf.random.stateless_normal
        self.w1 = tf.Variable(normal([FEATURES, HIDDEN], seed=[1, 1]) * 0.5, name="w1")
        self.b1 = tf.Variable(tf.zeros([HIDDEN]), name="b1")
        self.w2 = tf.Variable(normal([HIDDEN, 1], seed=[2, 2]) * 0.25, name="w2")
        self.b2 = tf.Variable(tf.zeros([1]), name="b2")
        self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self.first_loss = tf.Variable(float("nan"), name="first_loss")

    def loss(self, seed, size=BATCH):
        """The mean squared error on the batch that belongs to seed: the same one on every worker and in every run."""
        x = tf.random.stateless_uniform([size, FEATURES], seed=seed, minval=-1.0, maxval=1.0)
        hidden = tf.tanh(x @ self.w1 + self.b1)
        return tf.reduce_mean((hidden @ self.w2 + self.b2 - teacher(x)) ** 2)


def train(strategy, model, save):
    """Runs the steps that are missing; returns the loss before the first step ever and after the last."""
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    @tf.function
    def train_step(number):
        weights = [model.w1, model.b1, model.w2, model.b2]
        with tf.GradientTape() as tape:
            loss = model.loss(tf.stack([number, 0]))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(RATE * gradient)
        model.step.assign_add(1)

    @tf.function
    def evaluate():
        return model.loss([0, 1], size=4 * BATCH)

    def held_out_loss():
        return float(coordinator.schedule(evaluate).fetch())

    step, loss = int(model.step), held_out_loss()
    if step == 0:
        model.first_loss.assign(loss)
    print(f"step {step} loss {loss:.4f}")
    while step < STEPS:
        until = min(step + REPORT_EVERY, STEPS)
        for number in range(step, until):
            coordinator.schedule(train_step, args=(tf.constant(number),))
        coordinator.join()
        step, loss = until, held_out_loss()
        print(f"step {step} loss {loss:.4f}")
        if step % SAVE_EVERY == 0 or step == STEPS:
            save()
    return float(model.first_loss), loss


def main():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        model = Model()
    folder = os.path.abspath(os.environ.get("CHECKPOINT_DIR", "checkpoint"))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=2)
    if manager.latest_checkpoint:
        manager.checkpoint.restore(manager.latest_checkpoint, options=HERE).assert_consumed()
        print(f"restored {manager.latest_checkpoint}")

    first, last = train(strategy, model, lambda: manager.save(checkpoint_number=model.step, options=HERE))
    print(f"checkpoint {manager.latest_checkpoint}")
    if not last < first:
        sys.exit(f"loss did not fall: {first:.4f} before, {last:.4f} after")
    print(f"loss fell from {first:.4f} to {last:.4f}")


if __name__ == "__main__":
    main()
