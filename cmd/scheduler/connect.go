package main

import (
	"fmt"
	"os"
	"strings"

	"tfmesos/scheduler/mesos"
	"tfmesos/scheduler/store"
)

// passwordVariable has the secret of the principal. There is no flag: everybody on the machine sees those.
const passwordVariable = "MESOS_PASSWORD"

// connection says how masters are reached and asked.
type connection struct {
	Master       string `env:"MESOS_MASTER" help:"Mesos masters: one of them, several with commas, or zk://HOST:PORT,HOST:PORT/PATH where they elect the leader." placeholder:"HOST:PORT"`
	SSL          string `name:"mesos-ssl" env:"MESOS_SSL" help:"https for masters whose address names no scheme: true or false." placeholder:"false"`
	VerifySSL    string `name:"mesos-verify-ssl" env:"MESOS_VERIFY_SSL" help:"Check the certificates of masters: true or false." placeholder:"true"`
	CA           string `name:"mesos-ca" env:"MESOS_CA_FILE,LIBPROCESS_SSL_CA_FILE" help:"File of the CAs (PEM) that masters' certificates must come from; default: those the machine trusts." placeholder:"FILE"`
	Username     string `env:"MESOS_USERNAME" help:"Principal to register with; its secret is read from MESOS_PASSWORD or a file, never from a flag." placeholder:"NAME"`
	PasswordFile string `name:"password-file" env:"MESOS_PASSWORD_FILE" help:"File with the principal's secret, readable by nobody else; in place of MESOS_PASSWORD." placeholder:"FILE"`
}

// check finds what of it is no use, before anything is started.
func (c *connection) check() error {
	switch {
	case strings.TrimSpace(c.Master) == "":
		return usage("no Mesos master: give --master HOST:PORT or set MESOS_MASTER, or run on this machine with --local")
	case mesos.CheckMaster(c.Master) != nil:
		return usage("%v", mesos.CheckMaster(c.Master))
	}
	_, err := c.config()
	return err
}

// config reads the settings and their files.
func (c *connection) config() (mesos.Config, error) {
	config := mesos.Config{Master: c.Master, Principal: c.Username}
	var err error
	if config.Secure, err = readSwitch("--mesos-ssl, MESOS_SSL", c.SSL, false); err != nil {
		return config, err
	}
	verify, err := readSwitch("--mesos-verify-ssl, MESOS_VERIFY_SSL", c.VerifySSL, true)
	if err != nil {
		return config, err
	}
	config.SkipVerify = !verify
	if config.Secret, err = c.secret(); err != nil {
		return config, err
	}
	if c.CA != "" {
		if config.CA, err = os.ReadFile(c.CA); err != nil {
			return config, usage("--mesos-ca, MESOS_CA_FILE: %v", err)
		}
	}
	return config, nil
}

// readSwitch reads a switch of tfmesos2. What is no switch is refused: it might have been meant either way.
func readSwitch(name, value string, standard bool) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "":
		return standard, nil
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	}
	return false, usage("%s: %q is neither true nor false", name, value)
}

// secret returns the principal's secret, from the variable or a file. One that others could read is none.
func (c *connection) secret() (mesos.Secret, error) {
	secret := os.Getenv(passwordVariable)
	switch {
	case secret != "" && c.PasswordFile != "":
		return "", usage("MESOS_PASSWORD and --password-file (MESOS_PASSWORD_FILE) are both set: which of them is meant?")
	case (secret != "" || c.PasswordFile != "") && c.Username == "":
		return "", usage("MESOS_PASSWORD is set and MESOS_USERNAME is not: set both or neither")
	case c.PasswordFile == "":
		return mesos.Secret(secret), nil
	}
	info, err := os.Stat(c.PasswordFile)
	switch {
	case err != nil:
		return "", usage("--password-file, MESOS_PASSWORD_FILE: %v", err)
	case !info.Mode().IsRegular():
		return "", usage("--password-file, MESOS_PASSWORD_FILE: %s is no file", c.PasswordFile)
	case info.Mode()&0o027 != 0:
		return "", usage("--password-file, MESOS_PASSWORD_FILE: %s has mode %04o, so others can read or change it: chmod 600 (640 at most)", c.PasswordFile, info.Mode().Perm())
	}
	text, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", usage("--password-file, MESOS_PASSWORD_FILE: %v", err)
	}
	secret = strings.TrimRight(string(text), "\r\n")
	if secret == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", usage("--password-file, MESOS_PASSWORD_FILE: %s has not one line with a secret", c.PasswordFile)
	}
	return mesos.Secret(secret), nil
}

// samePrincipal refuses to go on with a framework under another principal: the master would, after the tasks had been waiting for it.
func (c *connection) samePrincipal(name string, record *store.Record) error {
	before := record.Cluster.Framework
	if before.ID == "" || before.Principal == c.Username {
		return nil
	}
	return usage("%s was registered with principal %q, and MESOS_USERNAME is %q: Mesos keeps the principal of a framework; set the one before, or give another --name",
		name, before.Principal, c.Username)
}

// where says at which masters a run is, for people.
func (c *connection) where(config *mesos.Config) string {
	text := "Mesos master " + mesos.ShowMaster(c.Master)
	if config.SkipVerify && (config.Secure || strings.Contains(strings.ToLower(c.Master), "https://")) {
		text += fmt.Sprintf(" (certificates are not checked: MESOS_VERIFY_SSL=%s)", strings.TrimSpace(c.VerifySSL))
	}
	return text
}
