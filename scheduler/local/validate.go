package local

import (
	"fmt"
	"math"
	"net/http"
	"os/user"
	"slices"
	"strings"
	"unicode"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/offer"
)

// maxScalar bounds a resource, so that sums of thousandths do not overflow.
const maxScalar = 1e12

// validateCall checks the parts of a call against each other.
func validateCall(call *scheduler.Call, principal string) *refusal {
	problem := ""
	switch {
	case call.Type == scheduler.Call_UNKNOWN:
		problem = "Expecting 'type' to be present"
	case call.Type == scheduler.Call_SUBSCRIBE:
		problem = validateSubscribe(call, principal)
	case call.FrameworkID == nil:
		problem = "Expecting 'framework_id' to be present"
	case missingBody(call) != "":
		problem = fmt.Sprintf("Expecting '%s' to be present", missingBody(call))
	case call.Type == scheduler.Call_ACKNOWLEDGE && len(call.Acknowledge.UUID) != len(uuid{}):
		problem = fmt.Sprintf("Not a valid UUID: it has %d bytes, not 16", len(call.Acknowledge.UUID))
	case call.Type == scheduler.Call_UPDATE_FRAMEWORK && call.UpdateFramework.FrameworkInfo.ID.GetValue() != call.FrameworkID.Value:
		problem = "'framework_id' differs from 'update_framework.framework_info.id'"
	case call.Type == scheduler.Call_UPDATE_FRAMEWORK:
		problem = validatePrincipal(&call.UpdateFramework.FrameworkInfo, principal)
	}
	if problem != "" {
		return refuse(http.StatusBadRequest, "Failed to validate scheduler::Call: %s", problem)
	}
	return nil
}

func validateSubscribe(call *scheduler.Call, principal string) string {
	if call.Subscribe == nil || call.Subscribe.FrameworkInfo == nil {
		return "Expecting 'subscribe' to be present"
	}
	info := call.Subscribe.FrameworkInfo
	if info.ID.GetValue() != call.FrameworkID.GetValue() {
		return "'framework_id' differs from 'subscribe.framework_info.id'"
	}
	if id := info.ID.GetValue(); id != "" {
		if problem := validateID(id); problem != "" {
			return "Invalid framework ID: " + problem
		}
	}
	return validatePrincipal(info, principal)
}

func validatePrincipal(info *mesos.FrameworkInfo, principal string) string {
	if info.Principal != nil && *info.Principal != principal {
		return fmt.Sprintf("Authenticated principal '%s' does not match principal '%s' set in `FrameworkInfo`", principal, *info.Principal)
	}
	return ""
}

// missingBody names the message that a call of its type needs and lacks, or is "".
func missingBody(call *scheduler.Call) string {
	for _, need := range []struct {
		kind scheduler.Call_Type
		ok   bool
		name string
	}{
		{scheduler.Call_ACCEPT, call.Accept != nil, "accept"},
		{scheduler.Call_DECLINE, call.Decline != nil, "decline"},
		{scheduler.Call_KILL, call.Kill != nil, "kill"},
		{scheduler.Call_ACKNOWLEDGE, call.Acknowledge != nil, "acknowledge"},
		{scheduler.Call_RECONCILE, call.Reconcile != nil, "reconcile"},
		{scheduler.Call_UPDATE_FRAMEWORK, call.UpdateFramework != nil, "update_framework"},
	} {
		if call.Type == need.kind && !need.ok {
			return need.name
		}
	}
	return ""
}

// checkFramework returns what a master has against a framework's description, or "".
func checkFramework(info *mesos.FrameworkInfo, suppressed []string) string {
	if _, ok := seconds(info.GetFailoverTimeout()); !ok {
		return fmt.Sprintf("The framework failover_timeout (%g) is invalid", info.GetFailoverTimeout())
	}
	multi := slices.ContainsFunc(info.Capabilities, func(c mesos.FrameworkInfo_Capability) bool {
		return c.Type == mesos.FrameworkInfo_Capability_MULTI_ROLE
	})
	roles := []string{info.GetRole()}
	switch {
	case multi && info.Role != nil:
		return "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"
	case !multi && len(info.Roles) > 0:
		return "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable"
	case multi:
		roles = info.Roles
	}
	for i, role := range roles {
		if problem := checkRole(role); problem != "" {
			return problem
		}
		if slices.Contains(roles[:i], role) {
			return fmt.Sprintf("'FrameworkInfo.roles' contains duplicate item '%s'", role)
		}
	}
	for _, role := range suppressed {
		if !slices.Contains(roles, role) {
			return fmt.Sprintf("Suppressed role '%s' is not contained in the set of roles", role)
		}
	}
	return ""
}

func checkRole(role string) string {
	if role == "*" {
		return ""
	}
	for part := range strings.SplitSeq(role, "/") {
		switch {
		case part == "" || part == "." || part == ".." || part == "*":
			return fmt.Sprintf("Role '%s' has a part '%s'", role, part)
		case strings.HasPrefix(part, "-"):
			return fmt.Sprintf("Role '%s' cannot start with '-'", role)
		case strings.ContainsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || r == '\b' || r == 0x7f }):
			return fmt.Sprintf("Role '%s' contains white space or backspace", role)
		}
	}
	return ""
}

// validateID checks an id that becomes the name of a folder.
func validateID(id string) string {
	switch {
	case id == "":
		return "ID must not be empty"
	case len(id) > 255:
		return "ID must not be greater than 255 characters"
	case id == "." || id == "..":
		return fmt.Sprintf("'%s' is disallowed", id)
	case strings.ContainsFunc(id, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }):
		return fmt.Sprintf("'%s' contains invalid characters", id)
	}
	return ""
}

// validateTask returns what a task needs, or what a master has against it.
func (m *Mesos) validateTask(f *framework, info *mesos.TaskInfo, role string, pool offer.Resources, operationID bool) (need offer.Resources, problem string) {
	id := info.TaskID.Value
	if problem := validateID(id); problem != "" {
		return need, "Task has an invalid ID: " + problem
	}
	switch {
	case operationID:
		return need, "'id' must not be set on a LAUNCH operation"
	case m.tasks[taskKey{f.id, id}] != nil:
		return need, fmt.Sprintf("Task has duplicate ID: %s", id)
	case info.AgentID.Value != m.agentID:
		return need, fmt.Sprintf("Task uses invalid agent %s while agent %s is expected", info.AgentID.Value, m.agentID)
	case (info.Executor == nil) == (info.Command == nil):
		return need, "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"
	case info.KillPolicy.GetGracePeriod() != nil && info.KillPolicy.GracePeriod.Nanoseconds < 0:
		return need, "Task's 'kill_policy.grace_period' must be non-negative"
	}
	if problem := notInLocalMode(info); problem != "" {
		return need, problem
	}
	need, problem = sumOf(info.Resources, role)
	switch {
	case problem != "":
		return need, "Task uses invalid resources: " + problem
	case need == offer.Resources{}:
		return need, "Task uses no resources"
	case !pool.Contains(need):
		return need, fmt.Sprintf("Total resources %v required by task and its executor is more than available %v", need, pool)
	}
	return need, ""
}

// sumOf adds up the resources of a task, or says what is wrong with one of them.
func sumOf(resources []mesos.Resource, role string) (sum offer.Resources, problem string) {
	for _, r := range resources {
		if problem := checkResource(r, role); problem != "" {
			return sum, problem
		}
		amount := offer.FromFloat(r.Scalar.Value)
		switch r.Name {
		case "cpus":
			sum.CPUs += amount
		case "mem":
			sum.Mem += amount
		case "disk":
			sum.Disk += amount
		case "gpus":
			sum.GPUs += amount
		}
	}
	return sum, ""
}

func checkResource(r mesos.Resource, role string) string {
	switch {
	case !slices.Contains([]string{"cpus", "mem", "disk", "gpus"}, r.Name):
		return fmt.Sprintf("the agent has no '%s'", r.Name)
	case r.Type == nil || *r.Type != mesos.SCALAR || r.Scalar == nil:
		return fmt.Sprintf("'%s' is not a scalar", r.Name)
	case math.IsNaN(r.Scalar.Value) || r.Scalar.Value < 0 || r.Scalar.Value > maxScalar:
		return fmt.Sprintf("'%s' is %g", r.Name, r.Scalar.Value)
	case r.Name == "gpus" && r.Scalar.Value != math.Trunc(r.Scalar.Value):
		return "The 'gpus' resource must be an unsigned integer"
	case r.AllocationInfo != nil && r.AllocationInfo.GetRole() != role:
		return fmt.Sprintf("'%s' is allocated to role '%s', but was offered to role '%s'", r.Name, r.AllocationInfo.GetRole(), role)
	case r.Role != nil && *r.Role != "*" || r.Reservation != nil || len(r.Reservations) > 0 || r.Disk != nil || r.Revocable != nil || r.Shared != nil:
		return fmt.Sprintf("'%s' is reserved, revocable, shared or a volume, which was not offered", r.Name)
	}
	return ""
}

// notInLocalMode names the first thing a task asks for that only a real Mesos does.
func notInLocalMode(info *mesos.TaskInfo) string {
	const plain = "local mode runs plain commands: "
	container, command := info.Container, info.Command
	switch {
	case info.Executor != nil:
		return plain + "it cannot run an executor"
	case container.GetDocker() != nil:
		return plain + "it cannot run the docker image " + container.Docker.Image
	case container.GetMesos().GetImage() != nil:
		return plain + "it cannot run the image " + container.Mesos.Image.GetDocker().GetName()
	case len(container.GetVolumes()) > 0:
		return plain + "it cannot mount volumes"
	case len(command.URIs) > 0:
		return plain + "it cannot fetch URIs, such as " + command.URIs[0].Value
	case command.Value == nil || *command.Value == "":
		return plain + "the task has a command without a value"
	case command.User != nil && !isSelf(*command.User):
		return plain + "it cannot run one as another user, " + *command.User
	case info.HealthCheck != nil || info.Check != nil:
		return plain + "it has no checks"
	case info.MaxCompletionTime != nil:
		return plain + "it has no max_completion_time"
	case len(info.Limits) > 0:
		return plain + "it has no resource limits"
	}
	for _, v := range command.GetEnvironment().GetVariables() {
		if v.Secret != nil {
			return plain + "it cannot resolve the secret of variable " + v.Name
		}
	}
	return ""
}

func isSelf(name string) bool {
	self, err := user.Current()
	return err == nil && (self.Username == name || self.Uid == name)
}
