"""Trains a small network on all workers at once, each with a copy of it (MultiWorkerMirroredStrategy and a loop of one's own).

Each worker runs this same program. Every step all of them compute the gradients of their part of the batch, sum them up
over the network and make the same step, so the copies stay alike. One that is lost stops the others.

    CHECKPOINT_DIR   where worker 0 keeps the checkpoint (default: ./checkpoint)
"""
import os
import shutil
import sys
import tempfile

import tensorflow as tf

STEPS, REPORT_EVERY = 100, 20
BATCH, FEATURES, HIDDEN, RATE = 64, 4, 16, 0.1  # BATCH is that of all workers together


def teacher(x):
    """What the network is to learn."""
    return tf.sin(x[:, :1]) + 0.5 * x[:, 1:2]


class Model(tf.Module):
    """One hidden layer. Its variables are mirrored on all workers when it is built in a strategy's scope."""

    def __init__(self):
        super().__init__()
        normal = tf.random.stateless_normal  # stateless: the seed alone decides
        self.w1 = tf.Variable(normal([FEATURES, HIDDEN], seed=[1, 1]) * 0.5, name="w1")
        self.b1 = tf.Variable(tf.zeros([HIDDEN]), name="b1")
        self.w2 = tf.Variable(normal([HIDDEN, 1], seed=[2, 2]) * 0.25, name="w2")
        self.b2 = tf.Variable(tf.zeros([1]), name="b2")

    def errors(self, x):
        """The squared error of each example."""
        hidden = tf.tanh(x @ self.w1 + self.b1)
        return (hidden @ self.w2 + self.b2 - teacher(x)) ** 2


def batches(context):
    """The batches of this worker: its own share of the numbers, from a seed of its own."""
    workers, this = context.num_input_pipelines, context.input_pipeline_id
    share = BATCH // workers
    return tf.data.Dataset.counter(1).map(
        lambda step: tf.random.stateless_uniform([share, FEATURES], seed=tf.stack([step, this]), minval=-1.0, maxval=1.0)
    )


def train(strategy, model, report):
    """Makes all steps; returns the loss of the first and of the last, each over the batches of all workers."""

    def replica_step(x):
        weights = [model.w1, model.b1, model.w2, model.b2]
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.errors(x)) / BATCH  # by the whole batch: the sum over the workers is the mean
        gradients = tape.gradient(loss, weights)
        gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        for weight, gradient in zip(weights, gradients):
            weight.assign_sub(RATE * gradient)
        return loss

    @tf.function
    def train_step(iterator):
        losses = strategy.run(replica_step, args=(next(iterator),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    iterator = iter(strategy.distribute_datasets_from_function(batches))
    first = last = None
    for step in range(1, STEPS + 1):
        last = float(train_step(iterator))
        first = last if first is None else first
        if step == 1 or step % REPORT_EVERY == 0:
            report(f"step {step} loss {last:.4f}")
    return first, last


def save(model, is_chief):
    """Saves on all workers, as TensorFlow wants it: reading a mirrored variable may need all of them. The copy of worker 0
    is kept, those of the others go to folders that are removed again."""
    if is_chief:
        folder = os.path.abspath(os.environ.get("CHECKPOINT_DIR") or "checkpoint")
    else:
        folder = tempfile.mkdtemp(prefix="not-the-chief-")
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=2)
    path = manager.save(checkpoint_number=STEPS)
    if not is_chief:
        shutil.rmtree(folder)
    return path


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # first of all: it starts the server that TF_CONFIG speaks of
    task = strategy.cluster_resolver  # without TF_CONFIG, started by hand, it has no task_type
    is_chief = task.task_type in (None, "", "chief") or (task.task_type == "worker" and task.task_id == 0)
    report = print if is_chief else lambda line: None
    with strategy.scope():
        model = Model()
    report(f"{strategy.num_replicas_in_sync} workers")

    first, last = train(strategy, model, report)
    report(f"checkpoint {save(model, is_chief)}")
    if not last < first:
        sys.exit(f"loss did not fall: {first:.4f} before, {last:.4f} after")
    report(f"loss fell from {first:.4f} to {last:.4f}")


if __name__ == "__main__":
    main()
