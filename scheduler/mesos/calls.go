package mesos

import (
	"fmt"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
)

// convertCall puts a call into the message of the API. The error says what Mesos could make no sense of.
func convertCall(call cluster.Call, frameworkID, role string) (*scheduler.Call, error) {
	message := &scheduler.Call{FrameworkID: &mesos.FrameworkID{Value: frameworkID}}
	switch call := call.(type) {
	case cluster.Accept:
		accept, err := convertAccept(call)
		if err != nil {
			return nil, err
		}
		message.Type, message.Accept = scheduler.Call_ACCEPT, accept
	case cluster.Decline:
		message.Type = scheduler.Call_DECLINE
		message.Decline = &scheduler.Call_Decline{OfferIDs: offerIDs(call.OfferIDs), Filters: filters(call.RefuseSeconds)}
	case cluster.Acknowledge:
		message.Type = scheduler.Call_ACKNOWLEDGE
		message.Acknowledge = &scheduler.Call_Acknowledge{
			AgentID: mesos.AgentID{Value: call.AgentID}, TaskID: mesos.TaskID{Value: call.TaskID}, UUID: call.UUID,
		}
	case cluster.Reconcile:
		message.Type, message.Reconcile = scheduler.Call_RECONCILE, &scheduler.Call_Reconcile{}
		for _, task := range call.Tasks {
			message.Reconcile.Tasks = append(message.Reconcile.Tasks,
				scheduler.Call_Reconcile_Task{TaskID: mesos.TaskID{Value: task.TaskID}, AgentID: agentID(task.AgentID)})
		}
	case cluster.Kill:
		message.Type = scheduler.Call_KILL
		message.Kill = &scheduler.Call_Kill{
			TaskID: mesos.TaskID{Value: call.TaskID}, AgentID: agentID(call.AgentID), KillPolicy: killPolicy(call.Grace),
		}
	case cluster.Suppress:
		message.Type, message.Suppress = scheduler.Call_SUPPRESS, &scheduler.Call_Suppress{Roles: []string{role}}
	case cluster.Revive:
		message.Type, message.Revive = scheduler.Call_REVIVE, &scheduler.Call_Revive{Roles: []string{role}}
	case cluster.Teardown:
		message.Type = scheduler.Call_TEARDOWN
	default:
		return nil, fmt.Errorf("mesos: no call %T", call)
	}
	return message, nil
}

// convertAccept makes one LAUNCH of all launches. Neither the operation nor its parts have an id: Mesos gives no feedback
// on a launch but status updates, and refuses one that asks for it.
func convertAccept(call cluster.Accept) (*scheduler.Call_Accept, error) {
	launch := &mesos.Offer_Operation_Launch{}
	for i := range call.Launches {
		info, err := convertLaunch(&call.Launches[i], call.AgentID, call.Role)
		if err != nil {
			return nil, err
		}
		launch.TaskInfos = append(launch.TaskInfos, info)
	}
	return &scheduler.Call_Accept{
		OfferIDs:   offerIDs(call.OfferIDs),
		Operations: []mesos.Offer_Operation{{Type: mesos.Offer_Operation_LAUNCH, Launch: launch}},
		Filters:    filters(call.RefuseSeconds),
	}, nil
}

func convertLaunch(l *cluster.Launch, agent, role string) (mesos.TaskInfo, error) {
	if len(l.Argv) == 0 && l.Image == "" {
		return mesos.TaskInfo{}, fmt.Errorf("mesos: task_id %s has no program to run", l.TaskID)
	}
	resources, err := resources(l.Parts, role)
	if err != nil {
		return mesos.TaskInfo{}, fmt.Errorf("mesos: the resources of task_id %s: %w", l.TaskID, err)
	}
	return mesos.TaskInfo{
		Name:       l.Task.String(),
		TaskID:     mesos.TaskID{Value: l.TaskID},
		AgentID:    mesos.AgentID{Value: agent},
		Resources:  resources,
		Command:    command(l),
		Container:  container(l),
		KillPolicy: killPolicy(l.KillGrace),
		Labels:     labels(l.Labels),
	}, nil
}

// command has neither value nor arguments where the entrypoint of the image is to run. The Mesos containerizer takes arguments
// for the argv of the value. Docker puts both behind the image (Docker::RunOptions::create in docker.cpp), where they
// would be arguments of an image's own entrypoint: so the program becomes the entrypoint, see container.
func command(l *cluster.Launch) *mesos.CommandInfo {
	shell := false
	info := &mesos.CommandInfo{Shell: &shell, Arguments: l.Argv, Environment: environment(l.Env), User: optional(l.User)}
	switch {
	case len(l.Argv) > 0 && l.Image != "" && l.Docker:
		info.Arguments = l.Argv[1:]
	case len(l.Argv) > 0:
		info.Value = &l.Argv[0]
	}
	for i := range l.URIs {
		uri := &l.URIs[i]
		info.URIs = append(info.URIs, mesos.CommandInfo_URI{Value: uri.Value, Extract: &uri.Extract, Executable: &uri.Executable,
			Cache: &uri.Cache, OutputFile: optional(uri.OutputFile)})
	}
	return info
}

// environment keeps empty values: a variable that is set to nothing is not the same as none.
func environment(variables []cluster.EnvVar) *mesos.Environment {
	if len(variables) == 0 {
		return nil
	}
	environment := &mesos.Environment{}
	for _, v := range variables {
		environment.Variables = append(environment.Variables, mesos.Environment_Variable{Name: v.Name, Value: &v.Value})
	}
	return environment
}

func labels(list []cluster.EnvVar) *mesos.Labels {
	if len(list) == 0 {
		return nil
	}
	labels := &mesos.Labels{}
	for _, l := range list {
		labels.Labels = append(labels.Labels, mesos.Label{Key: l.Name, Value: &l.Value})
	}
	return labels
}

// container is nil for a plain command. Docker gets the host's network, and so no port mappings, which it would refuse.
func container(l *cluster.Launch) *mesos.ContainerInfo {
	if l.Image == "" {
		return nil
	}
	info := &mesos.ContainerInfo{}
	if l.Docker {
		info.Type = mesos.ContainerInfo_DOCKER.Enum()
		info.Docker = &mesos.ContainerInfo_DockerInfo{Image: l.Image, Network: mesos.ContainerInfo_DockerInfo_HOST.Enum(), ForcePullImage: &l.ForcePull}
		if len(l.Argv) > 0 {
			info.Docker.Parameters = []mesos.Parameter{{Key: "entrypoint", Value: l.Argv[0]}}
		}
		for _, p := range l.Parameters {
			info.Docker.Parameters = append(info.Docker.Parameters, mesos.Parameter{Key: p.Key, Value: p.Value})
		}
	} else {
		info.Type = mesos.ContainerInfo_MESOS.Enum()
		cached := !l.ForcePull
		info.Mesos = &mesos.ContainerInfo_MesosInfo{
			Image: &mesos.Image{Type: mesos.Image_DOCKER.Enum(), Docker: &mesos.Image_Docker{Name: l.Image}, Cached: &cached},
		}
	}
	for _, v := range l.Volumes {
		mode := mesos.RW
		if v.ReadOnly {
			mode = mesos.RO
		}
		info.Volumes = append(info.Volumes, mesos.Volume{Mode: &mode, ContainerPath: v.ContainerPath, HostPath: optional(v.HostPath)})
	}
	return info
}

func offerIDs(ids []string) (list []mesos.OfferID) {
	for _, id := range ids {
		list = append(list, mesos.OfferID{Value: id})
	}
	return list
}

func agentID(id string) *mesos.AgentID {
	if id == "" {
		return nil
	}
	return &mesos.AgentID{Value: id}
}

// filters are always sent: without them Mesos refuses the rest of an offer for 5 s.
func filters(seconds float64) *mesos.Filters { return &mesos.Filters{RefuseSeconds: &seconds} }

// killPolicy is always sent: without it Mesos gives 3 s.
func killPolicy(grace time.Duration) *mesos.KillPolicy {
	return &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: int64(max(0, grace))}}
}
