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
	case call.Type == scheduler.Call_UNKNOWN || scheduler.Call_Type_name[int32(call.Type)] == "":
		problem = "Expecting 'type' to be present"
	case call.Type == scheduler.Call_SUBSCRIBE:
		problem = validateSubscribe(call, principal)
	case call.FrameworkID == nil:
		problem = "Expecting 'framework_id' to be present"
	case missingBody(call) != "":
		problem = fmt.Sprintf("Expecting '%s' to be present", missingBody(call))
	case call.Type == scheduler.Call_ACKNOWLEDGE && !validUUID(call.Acknowledge.UUID):
		problem = "Not a valid UUID"
	case call.Type == scheduler.Call_UPDATE_FRAMEWORK && call.UpdateFramework.FrameworkInfo.ID.GetValue() != call.FrameworkID.Value:
		problem = "'framework_id' differs from 'update_framework.framework_info.id'"
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
		{scheduler.Call_ACCEPT_INVERSE_OFFERS, call.AcceptInverseOffers != nil, "accept_inverse_offers"},
		{scheduler.Call_DECLINE_INVERSE_OFFERS, call.DeclineInverseOffers != nil, "decline_inverse_offers"},
		{scheduler.Call_SHUTDOWN, call.Shutdown != nil, "shutdown"},
		{scheduler.Call_MESSAGE, call.Message != nil, "message"},
		{scheduler.Call_REQUEST, call.Request != nil, "request"},
		{scheduler.Call_ACKNOWLEDGE_OPERATION_STATUS, call.AcknowledgeOperationStatus != nil, "acknowledge_operation_status"},
		{scheduler.Call_RECONCILE_OPERATIONS, call.ReconcileOperations != nil, "reconcile_operations"},
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
	if id := info.ID.GetValue(); id != "" {
		if problem := validateID(id); problem != "" {
			return problem
		}
	}
	if info.GetFailoverTimeout() > maxSeconds {
		return fmt.Sprintf("The framework failover_timeout (%g) is invalid", info.GetFailoverTimeout())
	}
	roles, problem := checkRoles(info)
	if problem != "" {
		return problem
	}
	for _, role := range suppressed {
		if !slices.Contains(roles, role) {
			return fmt.Sprintf("Suppressed role '%s' is not contained in the list of roles", role)
		}
	}
	return ""
}

// checkRoles returns the roles of a framework, or what is wrong with them.
func checkRoles(info *mesos.FrameworkInfo) (roles []string, problem string) {
	multi := slices.ContainsFunc(info.Capabilities, func(c mesos.FrameworkInfo_Capability) bool {
		return c.Type == mesos.FrameworkInfo_Capability_MULTI_ROLE
	})
	roles, what := []string{info.GetRole()}, "'FrameworkInfo.role' is not a valid role: "
	switch {
	case multi && info.Role != nil:
		return nil, "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"
	case !multi && len(info.Roles) > 0:
		return nil, "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable"
	case multi:
		roles, what = info.Roles, "'FrameworkInfo.roles' contains invalid role: "
	}
	for i, role := range roles {
		if problem := checkRole(role); problem != "" {
			return nil, what + problem
		}
		if slices.Contains(roles[:i], role) {
			return nil, fmt.Sprintf("'FrameworkInfo.roles' contains duplicate items: { %s }", role)
		}
	}
	return roles, ""
}

func checkRole(role string) string {
	switch {
	case role == "*":
		return ""
	case role == "":
		return "Role names cannot be the empty string"
	case strings.HasPrefix(role, "/"):
		return fmt.Sprintf("Role '%s' cannot start with a slash", role)
	case strings.HasSuffix(role, "/"):
		return fmt.Sprintf("Role '%s' cannot end with a slash", role)
	}
	for part := range strings.SplitSeq(role, "/") {
		switch {
		case part == "":
			return fmt.Sprintf("Role '%s' cannot contain two adjacent slashes", role)
		case part == "." || part == ".." || part == "*":
			return fmt.Sprintf("Role '%s' cannot include '%s' as a component", role, part)
		case strings.HasPrefix(part, "-"):
			return fmt.Sprintf("Role component '%s' is invalid because it starts with a dash", part)
		case strings.ContainsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || r == '\b' || r == 0x7f }):
			return fmt.Sprintf("Role component '%s' is invalid because it contains backspace or whitespace", part)
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
		return need, problem
	}
	switch {
	case operationID:
		return need, "The `id` field cannot be set on LAUNCH operations"
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
	const tooMuch = "Total resources %v required by task and its executor is more than available %v"
	if problem := checkResources(info.Resources, role); problem != "" {
		return need, problem
	}
	if i := slices.IndexFunc(info.Resources, notOffered); i >= 0 {
		return need, fmt.Sprintf(tooMuch, "with "+describeResource(info.Resources[i]), pool)
	}
	need = sumOf(info.Resources)
	switch {
	case need == offer.Resources{}:
		return need, "Task uses no resources"
	case !pool.Contains(need):
		return need, fmt.Sprintf(tooMuch, need, pool)
	}
	return need, ""
}

// invalidResource returns what spoils a whole operation: a resource that a
// master cannot read in one of its tasks.
func invalidResource(tasks []mesos.TaskInfo) string {
	for _, task := range tasks {
		for _, r := range task.Resources {
			if r.Scalar != nil && !(r.Scalar.Value >= 0) { // NaN too
				return fmt.Sprintf("Resource '%s' is invalid: Invalid scalar resource: value <= 0", describeResource(r))
			}
		}
	}
	return ""
}

func describeResource(r mesos.Resource) string {
	switch {
	case r.Scalar == nil:
		return r.Name
	case r.GetRole() != "" && r.GetRole() != "*":
		return fmt.Sprintf("%s(%s):%g", r.Name, r.GetRole(), r.Scalar.Value)
	}
	return fmt.Sprintf("%s:%g", r.Name, r.Scalar.Value)
}

// checkResources returns what is wrong with a task's resources in themselves.
func checkResources(resources []mesos.Resource, role string) string {
	for _, r := range resources {
		if r.AllocationInfo != nil && r.AllocationInfo.GetRole() != role {
			return fmt.Sprintf("Invalid task resources: The resources have multiple allocation roles ('%s' and '%s') but only one allocation role is allowed",
				role, r.AllocationInfo.GetRole())
		}
		if r.Name == "gpus" && r.Scalar != nil && r.Scalar.Value != math.Trunc(r.Scalar.Value) {
			return "Task uses invalid resources: Invalid 'gpus' resource: The 'gpus' resource must be an unsigned integer"
		}
	}
	return ""
}

// notOffered tells whether a resource is of a kind that the agent does not have.
func notOffered(r mesos.Resource) bool {
	return !slices.Contains([]string{"cpus", "mem", "disk", "gpus"}, r.Name) || r.Scalar == nil ||
		r.Role != nil && *r.Role != "*" || r.Reservation != nil || len(r.Reservations) > 0 || r.Disk != nil || r.Revocable != nil || r.Shared != nil
}

// sumOf adds up resources of the kinds that the agent has.
func sumOf(resources []mesos.Resource) (sum offer.Resources) {
	for _, r := range resources {
		amount := offer.FromFloat(min(r.Scalar.Value, maxScalar))
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
	return sum
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
		return plain + "the command has no value"
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
