"""Stands for the scheduler: does what FAKE says, and writes what it was given to $FAKE_DIR/given.json."""
import json
import os
import signal
import sys
import time

CLUSTER = {
    "cluster_def": {"ps": ["10.0.0.1:2000"], "worker": ["10.0.0.1:2001", "10.0.0.2:2002"]},
    "targets": {
        "/job:ps/task:0": "grpc://10.0.0.1:2000",
        "/job:worker/task:0": "grpc://10.0.0.1:2001",
        "/job:worker/task:1": "grpc://10.0.0.2:2002",
    },
}
STATUS = {
    "ready": 1,
    "total": 2,
    "why": "worker:0 waits: no agent has 64 cpus",
    "tasks": [
        {"task": "ps:0", "task_id": "x.1.ps-0.1", "phase": "serving", "state": "TASK_RUNNING", "hostname": "a1", "address": "10.0.0.1:2000"},
        {"task": "worker:0", "phase": "waiting"},
    ],
}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def end(code: int, why: str) -> None:
    if os.path.exists(path):
        os.remove(path)
    say(f"x: {why}; exit code {code}")
    ended = os.path.join(folder, "ended")
    with open(ended + ".new", "w") as file:
        file.write(str(code))
    os.rename(ended + ".new", ended)
    sys.exit(code)


folder, mode = os.environ["FAKE_DIR"], os.environ["FAKE"]
if sys.argv[1] == "status":
    print(json.dumps(STATUS))
    sys.exit()
path = sys.argv[sys.argv.index("--cluster-file") + 1]
text = sys.stdin.read()
with open(os.path.join(folder, "given.json"), "w") as given:
    json.dump({"argv": sys.argv[1:], "spec": json.loads(text or "null"), "env": dict(os.environ), "pid": os.getpid()}, given)
if mode == "refuse":
    say("standard input:1:30: jobs[0].gpus: 0.5: want a whole number of GPUs")
    end(2, "the spec has 1 problem, nothing was started")
if mode == "crash":
    os.kill(os.getpid(), signal.SIGKILL)

signals = {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
say('x: state: redis-cli -u redis://default:secret@127.0.0.1:1/0 HGETALL "tfmesos:{x}:tasks"')
say("00:47:11.650 ps:0       starting: launched on localhost")
say('time=now level=WARN msg="the master is slow"')
print("worker:0 | a line of a task", flush=True)
if mode != "never":
    with open(path + ".new", "w") as file:
        json.dump(CLUSTER, file)
    os.rename(path + ".new", path)
if mode == "fail":
    while not os.path.exists(os.path.join(folder, "fail-now")):
        time.sleep(0.01)
    end(1, "worker:0: its program was ended by signal 9")
signal.sigwait(signals)
if mode == "deaf":
    signal.sigwait(signals)
for _ in range(5000):  # far more than a pipe holds
    say("ended by SIGTERM: ending the cluster")
end(143, "ended by SIGTERM")
