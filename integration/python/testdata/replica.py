"""As tfmesos' replica mode has it: the same program in each task, which learns of the others by its arguments and starts its own server."""
import argparse

import tensorflow.compat.v1 as tf

parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name"):
    parser.add_argument("--" + name)
parser.add_argument("--worker_index", type=int)
args = parser.parse_args()

tf.disable_v2_behavior()
spec = tf.train.ClusterSpec({"ps": args.ps_hosts.split(","), "worker": args.worker_hosts.split(",")})
server = tf.train.Server(spec, job_name=args.job_name, task_index=args.worker_index)
if args.job_name == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{args.worker_index}", cluster=spec)):
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", (), initializer=tf.zeros_initializer())
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(weight - 42.0), global_step=step)
hooks = [tf.train.StopAtStepHook(last_step=100)]
with tf.train.MonitoredTrainingSession(server.target, is_chief=args.worker_index == 0, hooks=hooks) as session:
    while not session.should_stop():
        _, value = session.run([train, weight])
if args.worker_index == 0:
    print("the sum is", round(float(value)))
