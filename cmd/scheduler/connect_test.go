package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/store"
)

func TestKnownFault005SwitchesAreReadOrRefusedByNameAndValue(t *testing.T) {
	for value, verify := range map[string]bool{"": true, "true": true, " TRUE ": true, "1": true, "yes": true, "on": true,
		"false": false, "False": false, " FALSE ": false, "0": false, "no": false, "off": false} {
		config, err := (&connection{Master: "m:5050", VerifySSL: value, SSL: value}).config()
		if err != nil || config.SkipVerify == verify || config.Secure != (verify && value != "") {
			t.Errorf("%q: certificates are checked: %v, https: %v, %v", value, !config.SkipVerify, config.Secure, err)
		}
	}
	for name, c := range map[string]connection{"MESOS_VERIFY_SSL": {VerifySSL: "flase"}, "MESOS_SSL": {SSL: "flase"}} {
		c.Master = "m:5050"
		if err := c.check(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `"flase"`) {
			t.Errorf("%s=flase: %v", name, err)
		}
	}
}

func TestKnownFault112HalfAPairOfCredentialsIsRefused(t *testing.T) {
	t.Setenv("MESOS_PASSWORD", "pa55")
	if err := (&connection{Master: "m:5050"}).check(); err == nil || !strings.Contains(err.Error(), "MESOS_USERNAME") {
		t.Errorf("a password without a user: %v", err)
	}
	if err := (&connection{Master: "m:5050", Username: "tf", PasswordFile: "x"}).check(); err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("two passwords: %v", err)
	}
	if config, err := (&connection{Master: "m:5050", Username: "tf"}).config(); err != nil || config.Secret != "pa55" || config.Principal != "tf" {
		t.Errorf("a whole pair: %+v, %v", config, err)
	}
}

func TestAFileWithTheSecretIsReadIfNobodyElseCan(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text   string
		mode   os.FileMode
		refuse string // nothing: it is taken
	}{
		{"pa 55:é\n", 0o600, ""}, {"pa 55:é", 0o400, ""}, {"pa 55:é\r\n", 0o640, ""},
		{"pa55", 0o644, "mode 0644"}, {"pa55", 0o620, "mode 0620"}, {"pa55", 0o602, "mode 0602"},
		{"", 0o600, "one line"}, {"pa55\nmore\n", 0o600, "one line"},
	} {
		path := filepath.Join(dir, "secret")
		os.Remove(path)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		config, err := (&connection{Master: "m:5050", Username: "tf", PasswordFile: path}).config()
		switch {
		case c.refuse == "" && (err != nil || config.Secret != "pa 55:é"):
			t.Errorf("%q of mode %04o is refused: %v", c.text, c.mode, err)
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse) || !strings.Contains(err.Error(), "MESOS_PASSWORD_FILE") || strings.Contains(err.Error(), "pa55")):
			t.Errorf("%q of mode %04o: %v", c.text, c.mode, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if err := (&connection{Master: "m:5050", Username: "tf", PasswordFile: path}).check(); err == nil {
			t.Errorf("%s is taken for a file with a secret", path)
		}
	}
}

func TestAFileOfCAsThatIsNotThereIsRefused(t *testing.T) {
	err := (&connection{Master: "https://m:5050", CA: "/no/such/ca.pem"}).check()
	if err == nil || !strings.Contains(err.Error(), "MESOS_CA_FILE") || !strings.Contains(err.Error(), "/no/such/ca.pem") {
		t.Errorf("%v", err)
	}
}

func TestARunIsResumedUnderItsPrincipalOnly(t *testing.T) {
	record := func(id, principal string) *store.Record {
		return &store.Record{Cluster: &cluster.Cluster{Framework: cluster.Framework{ID: id, Principal: principal}}}
	}
	for _, c := range []struct {
		id, before, now string
		refuse          bool
	}{{"F", "tf", "tf", false}, {"", "", "tf", false}, {"F", "", "", false}, {"F", "", "tf", true}, {"F", "tf", "", true}} {
		err := (&connection{Username: c.now}).samePrincipal("ctr", record(c.id, c.before))
		if (err != nil) != c.refuse || err != nil && !strings.Contains(err.Error(), "MESOS_USERNAME") {
			t.Errorf("framework %q, registered as %q, now %q: %v", c.id, c.before, c.now, err)
		}
	}
}
