"""Evaluates each checkpoint that the chief (../ps/train.py) leaves, until that of the last step.

It takes no part in the training: its TF_CONFIG holds this task alone, and it reads nothing but files. It exits 0 only if
the loss of the last checkpoint is below that of the untrained network.

    CHECKPOINT_DIR   where the chief keeps its checkpoints, an absolute path; needed
    STEPS            the last step of the training (default: 200)
"""
import os
import sys

FOLDER = os.environ.get("CHECKPOINT_DIR", "")
if not os.path.isabs(FOLDER):  # said before TensorFlow is imported, which takes seconds
    sys.exit("CHECKPOINT_DIR is no absolute path: name a folder that chief and evaluator both reach")

import tensorflow as tf

sys.dont_write_bytecode = True  # leave no __pycache__ beside the examples
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ps"))
from train import STEPS, Model  # the model of the training

# A batch that no step trains on. The seed of those has a 0 at its end.
SEED, SIZE = [0, 2], 1024


def main():
    model = Model()
    checkpoint = tf.train.Checkpoint(model=model)
    first = float(model.loss(SEED, size=SIZE))
    print(f"step 0 loss {first:.4f}")
    # Waits for the next checkpoint, for ever: the end of the cluster is also the end of this program. Where the training is
    # faster than the evaluation, those between are passed over, but never the last.
    for path in tf.train.checkpoints_iterator(FOLDER):
        checkpoint.restore(path).assert_existing_objects_matched()
        step, last = int(model.step), float(model.loss(SEED, size=SIZE))
        print(f"step {step} loss {last:.4f}")
        if step >= STEPS:
            break
    print(f"evaluated {path}")
    if not last < first:
        sys.exit(f"loss did not fall: {first:.4f} before, {last:.4f} after")
    print(f"loss fell from {first:.4f} to {last:.4f}")


if __name__ == "__main__":
    main()
