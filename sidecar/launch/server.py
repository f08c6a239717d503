"""Runs a tf.distribute.Server for the sidecar that started this.

Usage: python -u -c TEXT_OF_THIS_FILE lean|full [REASON]

fd 3 takes one line for each step: "imported lean", "imported full REASON", "no_tensorflow MESSAGE", "serving".
fd 4 gives one line of JSON: {"config": TF_CONFIG, "env": {…}}; its end without a line means that the sidecar is gone.

tf.distribute.Server is tensorflow.python.training.server_lib.Server. With "tensorflow" and "tensorflow.python" in
sys.modules as bare packages (a path, and __init__ not run) it is imported alone, in a fifth of the time and two thirds of the
memory. What TensorFlow's __init__ does besides is done here or checked for; whatever is not as expected means the whole
import, in a fresh interpreter, since half an import cannot be taken back.
"""
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # -c puts the working directory first: files there are no modules

import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import types  # noqa: E402

NO_TENSORFLOW = 97  # boot.ExitNoTensorFlow


def tell(line):
    os.write(3, (" ".join(line.split()) + "\n").encode())


def leave_without_tensorflow(message):
    tell("no_tensorflow " + message)
    print(message + " (" + sys.executable + ")", file=sys.stderr, flush=True)
    sys.exit(NO_TENSORFLOW)


def site_packages():
    """The folders in which TensorFlow looks for plugins: its __init__ has the same list."""
    import site
    import sysconfig

    folders = {folder for folder in sys.path if "site-packages" in folder} | set(site.getsitepackages())
    if site.ENABLE_USER_SITE and site.USER_SITE:
        folders.add(site.USER_SITE)
    for scheme in sysconfig.get_scheme_names():
        folders |= {sysconfig.get_path(kind, scheme) for kind in ("purelib", "platlib")}
    return folders


def has_files(folder):
    return os.path.isdir(folder) and any(os.scandir(folder))


def against_lean(root):
    """Says what speaks against the lean import, or nothing."""
    if not os.path.isfile(os.path.join(root, "python", "training", "server_lib.py")):
        return "tensorflow has another layout: no python/training/server_lib.py"
    for folder in site_packages():
        plugins = os.path.join(folder, "tensorflow-plugins")
        if has_files(plugins):
            return "there are plugins in " + plugins
    if os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH"):
        return "TF_PLUGGABLE_DEVICE_LIBRARY_PATH is set"
    return ""


def load_kernels(root):
    """Loads the libraries of kernels that some versions have beside the main one, as TensorFlow's __init__ does."""
    kernels = os.path.join(root, "core", "kernels")
    if os.path.isdir(kernels) and any(root.startswith(folder) for folder in site_packages()):
        from tensorflow.python.framework import load_library

        load_library.load_library(kernels)


def import_lean():
    """Returns the Server class, and how and why it was imported; or None for the class if lean cannot be."""
    try:
        spec = importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError) as err:
        return None, "tensorflow cannot be found: %r" % err
    if spec is None:
        leave_without_tensorflow("No module named 'tensorflow'")
    if not spec.origin:
        return None, "tensorflow has another layout: it has no __init__"
    root = os.path.dirname(spec.origin)
    reason = against_lean(root)
    if reason:
        return None, reason
    os.environ.setdefault("TF2_BEHAVIOR", "1")
    os.environ.setdefault("ENABLE_RUNTIME_UPTIME_TELEMETRY", "1")
    for name, path in (("tensorflow", root), ("tensorflow.python", os.path.join(root, "python"))):
        package = types.ModuleType(name)
        package.__path__ = [path]
        sys.modules[name] = package
    try:
        from tensorflow.python.training import server_lib

        load_kernels(root)
        return server_lib.Server, ""
    except Exception as err:  # pylint: disable=broad-except; the whole import says what is really wrong
        return None, "lean: %s: %s" % (type(err).__name__, err)


def import_full(reason):
    try:
        import tensorflow
    except ModuleNotFoundError as err:
        if err.name != "tensorflow":
            raise
        leave_without_tensorflow(str(err))
    tell("imported full " + reason)
    return tensorflow.distribute.Server


def restart_full(reason):
    """Begins again in this process, with the same pipes."""
    with open("/proc/self/cmdline", "rb") as line:
        argv = line.read().split(b"\0")[:-1]
    how = len(argv) - len(sys.argv) + 1  # the place of "lean"
    os.execv(sys.executable, argv[:how] + [b"full", reason.encode()])


def main(how, reason="as asked for"):
    if how == "lean":
        server, reason = import_lean()
        if server is None:
            restart_full(reason)
        tell("imported lean")
    else:
        server = import_full(reason)
    with os.fdopen(4, "r", encoding="utf-8") as sidecar:
        line = sidecar.readline()
    if not line:
        sys.exit(0)
    order = json.loads(line)
    os.environ.update(order.get("env", {}))
    config = order["config"]
    task = config["task"]
    running = server(config["cluster"], job_name=task["type"], task_index=task["index"], protocol="grpc", start=True)
    tell("serving")
    running.join()


main(*sys.argv[1:])
