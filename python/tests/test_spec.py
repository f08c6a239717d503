"""What the scheduler is asked for."""
import unittest

from tfmesos3 import Job, UnsupportedError, _spec


def refuse(jobs=(Job("worker", 1),), environ=None, master="", **given):
    arguments = dict.fromkeys(("containerizer_type", "force_pull_image", "fetcher", "gpu_vendor", "extra_config"))
    _spec.refuse_what_is_not_done(list(jobs), environ or {}, master, **{**arguments, **given})


class Spec(unittest.TestCase):
    def test_jobs_may_be_a_job_a_dict_or_a_list_of_both(self):
        ps, worker = Job("ps", 1), Job("worker", 2, cpus=4, mem=2048, gpus=1)
        for given, want in (
            (ps, [ps]),
            ({"name": "ps", "num": 1}, [ps]),
            ([{"name": "ps", "num": 1}, worker], [ps, worker]),
            ((job for job in (ps, worker)), [ps, worker]),
        ):
            self.assertEqual(_spec.job_list(given), want)

    def test_a_job_has_the_defaults_and_the_order_of_tfmesos2(self):
        self.assertEqual(vars(Job("worker", 2)), {"name": "worker", "num": 2, "cpus": 1.0, "mem": 1024.0, "gpus": 0, "start": 0})
        self.assertEqual(Job("worker", 2, 3, 4, 5, 0), Job("worker", 2, cpus=3, mem=4, gpus=5))

    def test_an_unknown_field_of_a_job_is_named(self):
        with self.assertRaisesRegex(TypeError, "memory"):
            _spec.job_list({"name": "ps", "num": 1, "memory": 5})

    def test_a_spec_has_only_what_was_given(self):
        self.assertEqual(
            _spec.build("x", [Job("ps", 1)], None, None, None), {"name": "x", "jobs": [{"name": "ps", "num": 1, "cpus": 1, "mem": 1024, "gpus": 0}]}
        )

    def test_volumes_and_variables_become_those_of_the_spec(self):
        spec = _spec.build("x", [Job("ps", 1, 0.5)], {"/nfs": "/data"}, {"LEVEL": 2, "KEY": None, "PYTHONPATH": "/x"}, "MESOS")
        self.assertEqual(spec["volumes"], ["/nfs:/data"])
        self.assertEqual(spec["env"], {"LEVEL": "2", "KEY": None})
        self.assertEqual(spec["containerizer"], "MESOS")
        self.assertEqual(spec["jobs"][0]["cpus"], 0.5)

    def test_what_is_fetched_keeps_its_address_and_whether_it_is_unpacked(self):
        fetcher = {"https://h/a.tgz?sig=a%2Bb&x=1": True, "https://h/b.txt#f": False}
        spec = _spec.build("x", [Job("ps", 1)], None, None, None, fetcher, True)
        self.assertEqual(spec["uris"], [{"value": uri, "extract": extract} for uri, extract in fetcher.items()])
        self.assertIs(spec["force_pull_image"], True)


class Refusals(unittest.TestCase):
    def test_what_is_not_done_is_refused_by_the_name_of_its_argument(self):
        gpus = [Job("worker", 1, gpus=1)]
        for argument, given in (
            ("force_pull_image", {"force_pull_image": True}),
            ("fetcher", {"fetcher": {"http://h/x.tgz": True}}),
            ("extra_config", {"extra_config": {"a": 1}}),
            ("protocol", {"protocol": "grpc+verbs"}),
            ("forward_addresses", {"forward_addresses": {"/job:worker/task:0": ("h", 1)}}),
            ("gpu_vendor", {"gpu_vendor": "amd", "jobs": gpus}),
            ("gpu_vendor", {"gpu_vendor": "nvidia", "jobs": gpus, "master": "m:5050"}),
        ):
            with self.subTest(argument, given=given), self.assertRaisesRegex(UnsupportedError, f"^{argument}: ") as caught:
                refuse(**given)
            self.assertEqual(caught.exception.argument, argument)
            self.assertIsInstance(caught.exception, ValueError)

    def test_what_asks_for_nothing_more_than_is_done_is_taken(self):
        gpus = [Job("worker", 1, gpus=1)]
        for given in (
            {},
            {"force_pull_image": False, "fetcher": {}, "extra_config": {}, "forward_addresses": {}},
            {"force_pull_image": True, "fetcher": {"http://h/x.tgz": True}, "master": "m:5050"},
            {"protocol": "grpc"},
            {"gpu_vendor": "amd"},
            {"gpu_vendor": "nvidia", "jobs": gpus},
            {"gpu_vendor": "nvidia", "jobs": gpus, "master": "m:5050", "containerizer_type": "MESOS"},
        ):
            with self.subTest(given=given):
                refuse(**given)

    def test_a_program_of_a_job_is_refused_and_none_is_none(self):
        self.assertEqual(_spec.job_list({"name": "ps", "num": 1, "cmd": None}), [Job("ps", 1)])
        with self.assertRaisesRegex(UnsupportedError, "^cmd: job ps: .*scheduler run"):
            _spec.job_list({"name": "ps", "num": 1, "cmd": "python train.py"})


class Indexes(unittest.TestCase):
    def test_jobs_of_one_name_are_parts_of_one_job(self):
        for given, want in (
            ([Job("ps", 1), Job("worker", 2), Job("ps", 3, start=1)], [Job("ps", 3), Job("worker", 2)]),
            ([Job("worker", 1), Job("worker", 3, gpus=1, start=1)], [Job("worker", 1), Job("worker", 3, gpus=1, start=1)]),
            ([Job("worker", 1), Job("worker", 2, cpus=2), Job("worker", 1)], [Job("worker", 1), Job("worker", 3, cpus=2, start=1), Job("worker", 4, start=3)]),
            ([Job("worker", 1), Job("worker", 2)], [Job("worker", 3)]),
            ([Job("worker", 2, start=0), Job("worker", 2, start=2)], [Job("worker", 2)]),
            ([Job("worker", 2), Job("worker", 1, start=5)], [Job("worker", 2)]),
            ([Job("worker", 2, start=2)], [Job("worker", 0)]),
            ([Job("worker", 0, cpus=4), Job("worker", 2, cpus=8)], [Job("worker", 2, cpus=8)]),
            ([Job("worker", 2, cpus=8), Job("worker", 0, cpus=4)], [Job("worker", 2, cpus=8)]),
            ([Job("ps", 0), Job("worker", 1)], [Job("ps", 0), Job("worker", 1)]),
            ([Job("worker", -1)], [Job("worker", -1)]),
        ):
            with self.subTest(given=given):
                self.assertEqual(_spec.parts(given), want)

    def test_a_part_tells_the_scheduler_where_it_begins_and_how_many_it_has(self):
        jobs = _spec.build("x", _spec.parts([Job("worker", 1), Job("worker", 3, gpus=1, start=1)]), None, None, None)["jobs"]
        self.assertEqual([(job["num"], job.get("start"), job["gpus"]) for job in jobs], [(1, None, 0), (2, 1, 1)])

    def test_indexes_that_TensorFlow_cannot_count_are_refused(self):
        for given, words in (
            ([Job("worker", 4, start=2)], "job worker begins at 2: no job before it has that name"),
            ([Job("ps", 2), Job("worker", 4, start=2)], "no job before it has that name"),
            ([Job("ps", 2), Job("ps", 4, start=1)], "job ps begins at 1: the jobs of that name before it end with 1"),
            ([Job("ps", 2), Job("ps", 4, start=3)], "job ps begins at 3: the jobs of that name before it end with 1"),
            ([Job("ps", 2, start=-1)], "begins at -1"),
        ):
            with self.subTest(given=given), self.assertRaisesRegex(UnsupportedError, f"^start: .*{words}"):
                _spec.parts(given)


class Master(unittest.TestCase):
    def test_the_master_is_the_argument_else_the_variable_else_this_machine(self):
        for given, environ, want in (
            (None, {}, ""),
            (None, {"MESOS_MASTER": "m:5050"}, "m:5050"),
            ("n:5050", {"MESOS_MASTER": "m:5050"}, "n:5050"),
            ("", {"MESOS_MASTER": "m:5050"}, ""),
            (None, {"MESOS_MASTER": "m:5050", "TFMESOS_LOCAL": "1"}, ""),
            ("n:5050", {"TFMESOS_LOCAL": "1"}, "n:5050"),
            (None, {"MESOS_MASTER": " zk://h:2181/mesos ", "MESOS_SSL": "true"}, "zk://h:2181/mesos"),
        ):
            with self.subTest(given=given, environ=environ):
                self.assertEqual(_spec.master_address(given, environ), want)

    def test_the_scheduler_learns_the_master_once(self):
        environ = {"MESOS_MASTER": "m:5050", "MESOS_SSL": "true", "MESOS_USERNAME": "u", "PATH": "/bin", "TFMESOS_CLUSTER_FILE": "/x"}
        self.assertEqual(
            _spec.environment(environ, "n:5050", "/venv/bin/python"),
            {"MESOS_MASTER": "n:5050", "MESOS_SSL": "true", "MESOS_USERNAME": "u", "PATH": "/bin"},
        )

    def test_the_argument_says_whether_certificates_are_checked(self):
        for argument, want in ((None, "no"), (True, "true"), (False, "false")):
            self.assertEqual(_spec.environment({"MESOS_VERIFY_SSL": "no"}, "m:5050", "", argument)["MESOS_VERIFY_SSL"], want)

    def test_the_argument_says_the_role(self):
        for argument, want in ((None, "theirs"), ("ours", "ours")):
            self.assertEqual(_spec.environment({"MESOS_FRAMEWORK_ROLE": "theirs"}, "m:5050", "", role=argument)["MESOS_FRAMEWORK_ROLE"], want)

    def test_tasks_on_this_machine_find_the_python_of_the_script_first(self):
        self.assertEqual(_spec.environment({"PATH": "/bin"}, "", "/venv/bin/python"), {"PATH": "/venv/bin:/bin"})

    def test_where_tasks_call_is_said_only_where_they_are_elsewhere(self):
        self.assertEqual(_spec.flags(False, "10.0.0.9", 12000), ["--advertise", "10.0.0.9", "--port", "12000"])
        self.assertEqual(_spec.flags(True, "10.0.0.9", None), ["--local"])
