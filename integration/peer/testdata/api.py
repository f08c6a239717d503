"""tfmesos2's scheduler without a Mesos: its tasks, its callback API, and what it makes of status updates, all its own.

    api.py PORT JOB:NUM...

prints one line of JSON for each task, with what it would have Mesos run. Then it reads lines: `TASK_ID ADDRESS` is a TASK_RUNNING
of that task, and `targets` asks for the targets, as one line of JSON.
"""
import json
import logging
import sys

from tfmesos2.scheduler import API, Job, TensorflowMesos

port = int(sys.argv[1])
jobs = [Job(name, int(num)) for name, num in (job.split(":") for job in sys.argv[2:])]
sys.stdout, stdout = sys.stderr, sys.stdout  # it prints its jobs
scheduler = TensorflowMesos(jobs, client_ip="127.0.0.1", port=port, loglevel=logging.DEBUG)
API(scheduler.tasks, port=port).start()


def say(what):
    print(json.dumps(what), file=stdout, flush=True)


for task_id, task in scheduler.tasks.items():
    info = task.to_task_info({"agent_id": {"value": "agent"}}, f"{scheduler.client_ip}:{scheduler.port}")
    say({"task_id": task_id, "task": f"{task.job_name}:{task.task_index}", "command": info.command.value})
for line in sys.stdin:
    if line == "targets\n":
        say(scheduler.targets)
        continue
    task_id, address = line.split()
    network = [{"ip_addresses": [{"ip_address": address}]}]
    status = {"task_id": {"value": task_id}, "state": "TASK_RUNNING", "container_status": {"network_infos": network}}
    scheduler.status_update({"status": status})
