//go:build integration

package masters_test

import (
	"net"
	"strconv"
	"syscall"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

// asking are the flags of a master that wants credentials.
func asking(t *testing.T) []mesosrig.Option {
	return []mesosrig.Option{
		mesosrig.WithMasterFlag("authenticate_http_frameworks", "true"), mesosrig.WithMasterFlag("http_framework_authenticators", "basic"),
		mesosrig.WithMasterFlag("credentials", write(t, `{"credentials":[{"principal":"tf","secret":"`+secret+`"},{"principal":"other","secret":"`+secret+`"}]}`)),
	}
}

func TestCredentialsThatTheMasterWants(t *testing.T) {
	t.Parallel()
	rig := mesosrig.Start(t, asking(t)...)
	for name, c := range map[string]struct {
		env   []string
		code  int
		words []string
	}{
		"none":     {nil, 4, []string{"401", "set MESOS_USERNAME and MESOS_PASSWORD"}},
		"right":    {[]string{"MESOS_USERNAME=tf", "MESOS_PASSWORD=" + secret}, 0, []string{"finished"}},
		"in file":  {[]string{"MESOS_USERNAME=tf", "MESOS_PASSWORD_FILE=" + write(t, secret+"\n")}, 0, []string{"finished"}},
		"wrong":    {[]string{"MESOS_USERNAME=tf", "MESOS_PASSWORD=wr0ng"}, 4, []string{"401", `does not know MESOS_USERNAME "tf"`}},
		"stranger": {[]string{"MESOS_USERNAME=nobody", "MESOS_PASSWORD=" + secret}, 4, []string{"401", `"nobody"`}},
		"half":     {[]string{"MESOS_USERNAME=tf"}, 4, []string{"401", "there is no MESOS_PASSWORD"}},
		"the rest": {[]string{"MESOS_PASSWORD=" + secret}, 2, []string{"MESOS_USERNAME"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t, c.env, "--master", rig.Master(), "--worker", "1", "--", "true").ends(c.code, c.words...)
		})
	}
}

func TestCredentialsThatNobodyWantsDoNoHarm(t *testing.T) {
	t.Parallel()
	rig := mesosrig.Start(t)
	for name, env := range map[string][]string{
		"none": nil, "a pair": {"MESOS_USERNAME=tf", "MESOS_PASSWORD=" + secret}, "half": {"MESOS_USERNAME=tf"},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, env, "--master", rig.Master(), "--worker", "1", "--", "true").ends(0, "finished")
		})
	}
}

func TestC19WhatTheMasterDoesNotAllowIsSaidWithSettingAndRule(t *testing.T) {
	t.Parallel()
	t.Run("a role outside of the whitelist", func(t *testing.T) {
		rig := mesosrig.Start(t, mesosrig.WithMasterFlag("roles", "ads"))
		start(t, []string{"MESOS_FRAMEWORK_ROLE=ml"}, "--master", rig.Master(), "--worker", "1", "--", "true").
			ends(4, `role "ml" (--role, MESOS_FRAMEWORK_ROLE)`, "--roles")
		start(t, []string{"MESOS_FRAMEWORK_ROLE=ads"}, "--master", rig.Master(), "--worker", "1", "--", "true").ends(0)
	})
	t.Run("a role that the ACLs deny", func(t *testing.T) {
		acls := write(t, `{"register_frameworks":[{"principals":{"values":["tf"]},"roles":{"values":["ml"]}},{"principals":{"type":"ANY"},"roles":{"type":"NONE"}}]}`)
		rig := mesosrig.Start(t, append(asking(t), mesosrig.WithMasterFlag("acls", acls))...)
		start(t, []string{"MESOS_USERNAME=other", "MESOS_PASSWORD=" + secret}, "--role", "ml", "--master", rig.Master(), "--worker", "1", "--", "true").
			ends(4, `role "ml"`, "principal other (MESOS_USERNAME)", "register_frameworks")
		start(t, []string{"MESOS_USERNAME=tf", "MESOS_PASSWORD=" + secret}, "--role", "ml", "--master", rig.Master(), "--worker", "1", "--", "true").ends(0)
	})
	t.Run("a user that the ACLs deny", func(t *testing.T) {
		acls := write(t, `{"run_tasks":[{"principals":{"type":"ANY"},"users":{"type":"NONE"}}]}`)
		rig := mesosrig.Start(t, mesosrig.WithMasterFlag("acls", acls))
		start(t, []string{"MESOS_USERNAME=tf"}, "--master", rig.Master(), "--worker", "1", "--", "true").
			ends(1, "worker:0", "TASK_UNAUTHORIZED", "run_tasks")
	})
	t.Run("root", func(t *testing.T) {
		rig := mesosrig.Start(t, mesosrig.WithMasterFlag("root_submissions", "false"))
		start(t, nil, "--master", rig.Master(), "--worker", "1", "--", "true").ends(4, `user is "root"`, "root_submissions")
	})
}

// TestC18AMasterMayBeginToAskForCredentials starts the master anew with other flags, as an operator does who turns authentication on.
func TestC18AMasterMayBeginToAskForCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		code int
		want string
	}{
		"set from the first on": {[]string{"MESOS_USERNAME=tf", "MESOS_PASSWORD=" + secret}, 0, "finished"},
		"not set":               {nil, 4, "set MESOS_USERNAME and MESOS_PASSWORD"},
	} {
		t.Run(name, func(t *testing.T) {
			open := mesosrig.Start(t)
			end, command := waiting(t)
			r := start(t, c.env, append([]string{"--master", open.Master(), "--worker", "1"}, command...)...)
			framework := r.awaits(`registered with master .* as framework (\S+)$`)[1]
			r.awaits("all 1 tasks ready")
			open.StopMaster(t, syscall.SIGKILL)
			_, port, _ := net.SplitHostPort(open.Master())
			mesosrig.Start(t, append(asking(t), func(config *mesosrig.Config) { config.MasterPort, _ = strconv.Atoi(port) })...)
			if c.code == 0 {
				r.awaits("registered with master .* as framework " + framework + "(,|$)")
				touch(t, end)
			}
			r.ends(c.code, c.want)
		})
	}
}
