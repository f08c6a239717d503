// Package mesosrig runs a real Apache Mesos 1.11.0 on this machine, for tests and for trying things out, without building
// Mesos: one master and one agent on 127.0.0.1, or several masters with ZooKeeper, several agents, and Docker.
//
// In a test:
//
//	rig := mesosrig.Start(t, mesosrig.WithResources("cpus:8;mem:4096"))
//	… run something against rig.Master() …
//	rig.StopMaster(t, syscall.SIGKILL)
//	rig.StartMaster(t)
//
// Outside of tests: Setup, Up and the methods of Mesos, which take a context and return errors; cmd/rig is a program made
// of them.
//
// All of Mesos is in one shared library that a Python package carries. Setup fetches it, builds what is needed to run it
// (native/mesosd.cpp, stand-ins for libraries of its time, the programs in launcher/) and keeps both in a cache
// directory, once for each version of these sources. See README.md for what is Mesos' own and what is not.
//
// Environment variables: TFMESOS_RIG is the cache directory (default ~/.cache/tfmesos/rig), TFMESOS_TEST_PYTHON the
// Python whose pip fetches Mesos (default python3), TFMESOS_TEST_DOCKER=no skips tests that need Docker, CI=true makes a
// test fail that would be skipped for want of something.
package mesosrig
