"""The life of a cluster, with a scheduler that does as it is told."""
import contextlib
import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import tfmesos3
from tfmesos3 import NotReadyError, SchedulerError, SchedulerNotFoundError, TfmesosError, UnsupportedError, _child, cluster

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS = [{"name": "ps", "num": 1, "mem": 512}, {"name": "worker", "num": 2}]


class WithFake(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        program = os.path.join(self.folder, "scheduler")
        with open(program, "w") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/fake_scheduler.py" "$@"\n')
        os.chmod(program, 0o755)
        os.mkdir(os.path.join(self.folder, "tmp"))
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("TFMESOS", "MESOS_"))}
        clean.update(TFMESOS_SCHEDULER=program, FAKE_DIR=self.folder, FAKE="serve", TMPDIR=os.path.join(self.folder, "tmp"))
        for patch in (mock.patch.dict(os.environ, clean, clear=True), mock.patch.object(tempfile, "tempdir", clean["TMPDIR"])):
            patch.start()
            self.addCleanup(patch.stop)
        self.log = io.StringIO()
        handler = logging.StreamHandler(self.log)
        handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)

    def path(self, name):
        return os.path.join(self.folder, name)

    def given(self):
        with open(self.path("given.json")) as file:
            return json.load(file)

    def assert_nothing_is_left(self):
        self.assertEqual(os.listdir(self.path("tmp")), [], "files were left")
        with self.assertRaises(ProcessLookupError, msg="the scheduler is still there"):
            os.kill(self.given()["pid"], 0)

    def appears(self, name):
        """Waits for a file of another process, which can only be looked for."""
        deadline = time.monotonic() + 20
        while not os.path.exists(self.path(name)):
            self.assertLess(time.monotonic(), deadline, f"{name} did not appear")
            time.sleep(0.01)


class Life(WithFake):
    def test_a_block_begins_when_all_are_ready_and_its_end_is_that_of_the_cluster(self):
        with cluster(JOBS, env={"A": 1}, name="x") as c:
            self.assertEqual(c.cluster_def, {"ps": ["10.0.0.1:2000"], "worker": ["10.0.0.1:2001", "10.0.0.2:2002"]})
            self.assertEqual(c.targets["/job:worker/task:1"], "grpc://10.0.0.2:2002")
        given = self.given()
        self.assertEqual(given["spec"]["name"], "x")
        self.assertEqual([(job["name"], job["num"], job["mem"]) for job in given["spec"]["jobs"]], [("ps", 1, 512), ("worker", 2, 1024)])
        self.assertEqual(given["argv"][:2], ["run", "-"])
        self.assertIn("--local", given["argv"])
        self.assertIn("running on this machine (--local)", self.log.getvalue())
        self.assertIn("exit code 143", self.log.getvalue())
        self.assertEqual(c.targets["/job:ps/task:0"], "grpc://10.0.0.1:2000", "what was known is known after the end")
        self.assert_nothing_is_left()

    def test_by_hand(self):
        c = cluster(JOBS)
        c.wait_until_ready()
        c.wait_until_ready()
        self.assertEqual(len(c.targets), 3)
        c.shutdown()
        c.shutdown()
        self.assert_nothing_is_left()

    def test_a_master_is_used_and_local_is_not(self):
        os.environ.update(MESOS_MASTER="m:5050", MESOS_SSL="true")
        with cluster(JOBS, client_ip="10.0.0.9", port=12000, verify_ssl=False):
            pass
        given = self.given()
        self.assertNotIn("--local", given["argv"])
        self.assertEqual(given["argv"][-4:], ["--advertise", "10.0.0.9", "--port", "12000"])
        self.assertEqual([given["env"][name] for name in ("MESOS_MASTER", "MESOS_SSL", "MESOS_VERIFY_SSL")], ["m:5050", "true", "false"])

    def test_tasks_are_a_property_and_a_method(self):
        with cluster(JOBS) as c:
            for tasks in (c.get_tasks, c.get_tasks()):
                ps, worker = tasks["x.1.ps-0.1"], tasks["worker:0"]
                self.assertEqual((ps.job_name, ps.task_index, ps.addr, ps.port, ps.initialized), ("ps", 0, "10.0.0.1", "2000", True))
                self.assertEqual((ps.mem, ps.state, ps.hostname), (512, "TASK_RUNNING", "a1"))
                self.assertEqual((worker.addr, worker.port, worker.initialized), (None, None, False))

    def test_lines_are_logged_at_their_level_and_secrets_and_output_only_when_asked_for(self):
        for level, output in ((logging.INFO, False), (logging.DEBUG, True)):
            self.log.truncate(0)
            with cluster(JOBS, loglevel=level):
                pass
            log = self.log.getvalue()
            self.assertIn('WARNING time=now level=WARN msg="the master is slow"', log)
            self.assertIn("INFO ps:0       starting: launched on localhost", log)
            self.assertEqual("DEBUG worker:0 | a line of a task" in log, output, log)
            self.assertEqual("secret@" in log, output, log)

    def test_quiet_shows_nothing_where_no_logging_is_set_up(self):
        root, shown = logging.getLogger(), io.StringIO()
        with mock.patch.object(root, "handlers", []), mock.patch.object(sys, "stderr", shown):
            for quiet in (True, False, True):
                shown.truncate(0)
                with cluster(JOBS, quiet=quiet):
                    pass
                self.assertEqual("INFO: ps:0       starting" in shown.getvalue(), not quiet, shown.getvalue())

    def test_jobs_of_one_name_are_given_as_one(self):
        with cluster([{"name": "ps", "num": 1}, {"name": "worker", "num": 1}, {"name": "ps", "num": 3, "start": 1}], role="ours"):
            pass
        self.assertEqual([(job["name"], job["num"]) for job in self.given()["spec"]["jobs"]], [("ps", 3), ("worker", 1)])
        self.assertEqual(self.given()["env"]["MESOS_FRAMEWORK_ROLE"], "ours")

    def test_a_scheduler_that_does_not_heed_the_first_signal_gets_a_second(self):
        os.environ["FAKE"] = "deaf"
        with mock.patch.object(_child, "_PATIENCE", (0.2, 20, 5)), cluster(JOBS):
            pass
        self.assert_nothing_is_left()
        self.assertTrue(os.path.exists(self.path("ended")), "it was killed")

    def test_names_are_made_of_the_script(self):
        for script, want in (("/a/My Train_2.py", r"^my-train-2-[0-9a-f]{6}$"), ("", r"^python-[0-9a-f]{6}$"), ("-c", r"^c-[0-9a-f]{6}$")):
            with mock.patch.object(sys, "argv", [script]):
                self.assertRegex(tfmesos3._cluster._invent_name(), want)


class Failures(WithFake):
    def test_a_refused_spec_is_told_with_its_problems(self):
        os.environ["FAKE"] = "refuse"
        with self.assertRaises(SchedulerError) as caught, cluster({"name": "worker", "num": 1, "gpus": 0.5}):
            self.fail("the block was entered")
        error = caught.exception
        self.assertEqual(str(error), "jobs[0].gpus: 0.5: want a whole number of GPUs\nx: the spec has 1 problem, nothing was started; exit code 2")
        self.assertEqual((error.exit_code, error.last_line), (2, "x: the spec has 1 problem, nothing was started; exit code 2"))
        self.assert_nothing_is_left()

    def test_a_scheduler_that_is_killed_is_told(self):
        os.environ["FAKE"] = "crash"
        with self.assertRaises(SchedulerError) as caught, cluster(JOBS):
            self.fail("the block was entered")
        self.assertEqual(str(caught.exception), "the scheduler ended without a word; exit code -9")
        self.assert_nothing_is_left()

    def test_not_ready_in_time_says_what_it_waits_for(self):
        os.environ["FAKE"] = "never"
        with self.assertRaises(NotReadyError) as caught, cluster(JOBS, readiness_timeout=0.5, name="x"):
            self.fail("the block was entered")
        self.assertEqual(str(caught.exception), "x: not ready within 0.5 s: 1 of 2 tasks were ready; worker:0 waits: no agent has 64 cpus")
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assert_nothing_is_left()

    def test_by_hand_one_may_go_on_waiting(self):
        os.environ["FAKE"] = "never"
        c = cluster(JOBS, readiness_timeout=0.1)
        for _ in range(2):
            self.assertRaises(NotReadyError, c.wait_until_ready)
        self.assertEqual((c.targets, c.cluster_def), ({}, {}))
        c.shutdown()
        with self.assertRaisesRegex(TfmesosError, "shut down"):
            c.wait_until_ready()

    def test_a_cluster_that_fails_during_the_block_is_an_error_at_its_end(self):
        os.environ["FAKE"] = "fail"
        with self.assertRaisesRegex(SchedulerError, "worker:0: its program was ended by signal 9; exit code 1"), cluster(JOBS):
            open(self.path("fail-now"), "w").close()
            self.appears("ended")
            self.wait_for_its_end()
        self.assert_nothing_is_left()

    def test_an_error_of_the_block_comes_first(self):
        os.environ["FAKE"] = "fail"
        with self.assertRaisesRegex(KeyError, "mine"), cluster(JOBS):
            open(self.path("fail-now"), "w").close()
            self.appears("ended")
            self.wait_for_its_end()
            raise KeyError("mine")
        self.assertIn("ERROR the cluster ended before its block did: x: worker:0: its program was ended by signal 9", self.log.getvalue())

    def wait_for_its_end(self):
        """Waits until the scheduler is gone: a zombie or no more."""
        pid, deadline = self.given()["pid"], time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] != "Z":
                    time.sleep(0.01)
                    continue
            return
        self.fail("the scheduler did not end")

    def test_nothing_is_started_for_what_is_not_supported(self):
        self.assertRaises(UnsupportedError, cluster, JOBS, fetcher={"http://h/x": True})
        self.assertRaises(TypeError, cluster, JOBS, no_such_argument=1)
        self.assertFalse(os.path.exists(self.path("given.json")))

    def test_a_scheduler_that_has_ended_has_no_guard_any_more(self):
        os.environ["FAKE"] = "refuse"
        c = cluster(JOBS)
        self.assertRaises(SchedulerError, c.wait_until_ready)
        self.assertEqual(c._child._guard.returncode, 0, "it would end whoever gets the pid next")
        c.shutdown()

    def test_without_a_scheduler_it_says_how_to_get_one(self):
        os.environ["TFMESOS_SCHEDULER"] = "/no/such/program"
        with self.assertRaisesRegex(SchedulerNotFoundError, "TFMESOS_SCHEDULER=/no/such/program"):
            cluster(JOBS)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_the_program_in_the_path_is_the_last_resort(self):
        with mock.patch.object(os, "access", lambda path, mode: False):
            self.assertRaisesRegex(SchedulerNotFoundError, "install the wheel", _child.find_scheduler, {"PATH": "/nowhere"})
        self.assertEqual(_child.find_scheduler({"PATH": self.folder}), self.path("scheduler"))


class EndsOfThePython(WithFake):
    """Scripts that start a cluster and end without shutdown()."""

    def script(self, rest):
        text = f"import os, signal, sys, time\nfrom tfmesos3 import cluster\nc = cluster({JOBS!r})\nc.wait_until_ready()\n{rest}"
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tfmesos3.__file__))}
        return subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, timeout=60)

    def assert_it_ended(self):
        self.appears("ended")
        with open(self.path("ended")) as file:
            self.assertEqual(file.read(), "143", "it did not end by SIGTERM and with all its last words")
        deadline = time.monotonic() + 20
        while os.listdir(self.path("tmp")):
            self.assertLess(time.monotonic(), deadline, "files were left")
            time.sleep(0.01)

    def test_at_the_end_of_the_script_the_cluster_ends(self):
        self.assertEqual(self.script("print('done')").stdout, "done\n")
        self.assertTrue(os.path.exists(self.path("ended")), "the script was over before its cluster")
        self.assert_nothing_is_left()

    def test_an_error_of_the_script_ends_the_cluster(self):
        done = self.script("sys.exit(3)")
        self.assertEqual(done.returncode, 3)
        self.assert_nothing_is_left()

    def test_a_script_that_is_killed_takes_the_cluster_with_it(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                self.assertEqual(self.script(f"os.kill(os.getpid(), {int(number)})").returncode, -number)
                self.assert_it_ended()
                os.remove(self.path("ended"))

    def test_a_fork_does_not_end_the_cluster_of_its_parent(self):
        done = self.script(
            "if os.fork() == 0:\n    sys.exit()\nos.wait()\n"
            f"assert not os.path.exists({self.path('ended')!r}), 'it ended'\nprint('serving')\n"
        )
        self.assertEqual(done.stdout, "serving\n", done.stderr)
        self.assert_nothing_is_left()

    def test_a_thread_that_started_a_cluster_may_end_before_it(self):
        done = self.script(
            f"import threading\nt = threading.Thread(target=lambda: globals().update(d=cluster({JOBS!r})))\nt.start(); t.join()\n"
            "d.wait_until_ready(); time.sleep(0.1); assert not d._child.ended()\nprint('serving')\n"
        )
        self.assertEqual(done.stdout, "serving\n", done.stderr)

    def test_lines_reach_stderr_when_nobody_has_set_up_logging(self):
        stderr = self.script("").stderr
        self.assertRegex(stderr, r"INFO: no Mesos master in MESOS_MASTER")
        self.assertRegex(stderr, r"exit code 143")


if __name__ == "__main__":
    unittest.main()
