"""Uses a ps and a worker, at the addresses given, from a program with the whole TensorFlow, in its two ways."""
import sys

import tensorflow as tf

ps, worker = sys.argv[1:]


def place(tensor):
    return tensor.device.rpartition("/device")[0]


tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({"ps": [ps], "worker": [worker]}))
with tf.device("/job:ps/task:0"):
    variable = tf.Variable([1.0, 2.0])
    variable.assign_add([0.0, 1.0])
print("variable on", place(variable) + ":", variable.numpy().tolist())
with tf.device("/job:worker/task:0"):
    svd = tf.linalg.svd(tf.linalg.diag([4.0, variable[1]]), compute_uv=False)
    sobol = tf.math.sobol_sample(1, 3)  # its kernel is in a library of its own in some versions
    strings = tf.strings.split("lean server")
print("svd on", place(svd) + ":", [round(float(x), 3) for x in svd.numpy()])
print("sobol on", place(sobol) + ":", sobol.numpy().reshape(-1).tolist())
print("strings on", place(strings) + ":", [word.decode() for word in strings.numpy()])

with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        variable = tf.compat.v1.get_variable("v", initializer=[1.0, 3.0], use_resource=True)
    with tf.device("/job:worker/task:0"):
        twice = 2.0 * variable
    with tf.compat.v1.Session("grpc://" + worker) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        print("session:", session.run(twice).tolist())
