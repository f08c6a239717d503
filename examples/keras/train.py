"""Trains a small network with Keras' fit on all workers at once, each with a copy of it (MultiWorkerMirroredStrategy).

Each worker runs this same program. Two things make a Keras script one for many workers: the strategy, in whose scope the
model is built, and a dataset that is split between them.

    CHECKPOINT_DIR   where worker 0 keeps the checkpoint (default: ./checkpoint)
"""
import os
import sys

if os.environ.get("TF_USE_LEGACY_KERAS") != "1":
    sys.exit("set TF_USE_LEGACY_KERAS=1: the fit of Keras 3 does not know MultiWorkerMirroredStrategy")
try:
    import tf_keras  # noqa: F401, TensorFlow finds it by itself; here it is only to say what is missing
except ImportError as error:
    sys.exit(f"{error}: pip install --no-deps -r examples/keras/requirements.txt")

import tensorflow as tf

EPOCHS, EXAMPLES, BATCH = 5, 512, 32  # BATCH is that of all workers together


def dataset():
    """All examples. DATA: each worker takes every other one, and half a batch at a time."""
    x = tf.random.stateless_uniform([EXAMPLES, 4], seed=[1, 0], minval=-1.0, maxval=1.0)
    y = tf.sin(x[:, :1]) + 0.5 * x[:, 1:2]
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(EXAMPLES, seed=1).batch(BATCH).with_options(options)


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # first of all: it starts the server that TF_CONFIG speaks of
    task = strategy.cluster_resolver  # without TF_CONFIG, started by hand, it has no task_type
    is_chief = task.task_type in (None, "", "chief") or (task.task_type == "worker" and task.task_id == 0)
    report = print if is_chief else lambda line: None
    report(f"{strategy.num_replicas_in_sync} workers")

    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(16, activation="tanh", input_shape=(4,)),
            tf.keras.layers.Dense(1),
        ])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")

    # Every worker has to save, and to the same path: Keras sends what those beside worker 0 write to a folder that it
    # removes again.
    path = os.path.join(os.path.abspath(os.environ.get("CHECKPOINT_DIR") or "checkpoint"), "weights")
    history = model.fit(dataset(), epochs=EPOCHS, verbose=0, callbacks=[
        tf.keras.callbacks.ModelCheckpoint(path, save_weights_only=True),
        tf.keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: report(f"epoch {epoch + 1} loss {logs['loss']:.4f}")),
    ])
    report(f"checkpoint {path}")
    first, last = history.history["loss"][0], history.history["loss"][-1]
    if not last < first:
        sys.exit(f"loss did not fall: {first:.4f} in the first epoch, {last:.4f} in the last")
    report(f"loss fell from {first:.4f} to {last:.4f}")


if __name__ == "__main__":
    main()
