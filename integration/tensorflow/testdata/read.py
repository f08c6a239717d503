"""Answers each line of stdin, a TF_CONFIG, with a line of JSON: what TensorFlow makes of it."""
import json
import os
import sys

from tensorflow.python.distribute import multi_worker_util
from tensorflow.python.distribute.cluster_resolver import TFConfigClusterResolver


def read(config):
    os.environ["TF_CONFIG"] = config
    resolver = TFConfigClusterResolver()
    spec, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    got = {"cluster": spec.as_dict(), "task": {"type": job, "index": index}}
    try:
        got["is_chief"] = multi_worker_util.is_chief(spec, job, index)
        if job != "ps":  # TensorFlow has no such number for a ps
            got["worker_count"] = multi_worker_util.worker_count(spec, job)
            got["id_in_cluster"] = multi_worker_util.id_in_cluster(spec, job, index)
            got["collective_leader"] = multi_worker_util.collective_leader(spec, job, index)
    except Exception as e:
        got["error"] = f"{type(e).__name__}: {e}"
    return got


for line in sys.stdin:
    print(json.dumps(read(line)), flush=True)
