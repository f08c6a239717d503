package mesos

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tfmesos/scheduler/cluster"
)

// unsubscribable tells refusals of SUBSCRIBE, which are final, from what passes.
func (r *run) unsubscribable(at *url.URL, failed *CallError) error {
	if failed.Temporary() {
		return fmt.Errorf("%s: %w", at.Host, failed)
	}
	message := failed.Error()
	if hint := r.config.explainStatus(failed); hint != "" {
		message += ": " + hint
	}
	return &refusal{kind: ErrRefused, message: message, cause: failed}
}

// explainStatus says which of our settings an answer is about.
func (c *Config) explainStatus(failed *CallError) string {
	switch {
	case failed.Code == http.StatusUnauthorized && c.Secret == "" && c.Principal == "":
		return "the master wants credentials: set MESOS_USERNAME and MESOS_PASSWORD"
	case failed.Code == http.StatusUnauthorized && c.Secret == "":
		return fmt.Sprintf("the master wants credentials: MESOS_USERNAME is %q, and there is no MESOS_PASSWORD", c.Principal)
	case failed.Code == http.StatusUnauthorized:
		return fmt.Sprintf("the master does not know MESOS_USERNAME %q with this MESOS_PASSWORD (which is not shown)", c.Principal)
	case failed.Code == http.StatusForbidden:
		return fmt.Sprintf("the master does not let principal %q (MESOS_USERNAME) subscribe", c.Principal)
	}
	return ""
}

// explainError says which of our settings the message of an ERROR event is about. The texts are those of
// src/master/validation.cpp and master.cpp.
func (c *Config) explainError(message string) string {
	role, principal := c.Framework.role(), c.Principal
	if principal == "" {
		principal = "(none)"
	}
	lower := strings.ToLower(message)
	switch {
	case strings.Contains(lower, "principal") && strings.Contains(lower, "chang"), strings.Contains(lower, "updating 'framework") && strings.Contains(lower, "principal"):
		return fmt.Sprintf("MESOS_USERNAME is %q now, and Mesos keeps the principal that a framework was registered with: set the one before", c.Principal)
	case strings.Contains(lower, "not authorized") && strings.Contains(lower, "role"), strings.Contains(lower, "not authorized") && !strings.Contains(lower, "user"):
		return fmt.Sprintf("role %q (--role, MESOS_FRAMEWORK_ROLE) is not for principal %s (MESOS_USERNAME), by the rule register_frameworks of the master's --acls", role, principal)
	case strings.Contains(lower, "role") && (strings.Contains(lower, "whitelist") || strings.Contains(lower, "not present") || strings.Contains(lower, "--roles")):
		return fmt.Sprintf("role %q (--role, MESOS_FRAMEWORK_ROLE) is not among the master's --roles", role)
	case strings.Contains(lower, "role") && strings.Contains(lower, "invalid"):
		return fmt.Sprintf("role %q is that of --role, MESOS_FRAMEWORK_ROLE", role)
	case strings.Contains(lower, "root"):
		return fmt.Sprintf("the framework's user is %q, and the master runs with --no-root_submissions: start the scheduler as another user", c.Framework.User)
	case strings.Contains(lower, "not authorized"):
		return fmt.Sprintf("user %q is not for principal %s (MESOS_USERNAME), by the rule run_tasks of the master's --acls", c.Framework.User, principal)
	}
	return ""
}

// explainUpdate says which rule a launch has met that no other try will pass.
func explainUpdate(u cluster.Updated) cluster.Updated {
	if u.Reason == "TASK_UNAUTHORIZED" {
		u.Message += ": the user is that of the job, else of who started the scheduler, the principal is MESOS_USERNAME, and the rule run_tasks of the master's --acls"
	}
	return u
}
