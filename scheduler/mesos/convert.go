package mesos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"

	"tfmesos/scheduler/cluster"
)

// convertStatus reads a status update. Everything but task_id and state may be missing.
func convertStatus(s *mesos.TaskStatus) cluster.Updated {
	updated := cluster.Updated{
		TaskID: s.TaskID.Value, AgentID: s.GetAgentID().GetValue(), Message: s.GetMessage(), Addresses: addresses(s.ContainerStatus),
	}
	if s.State != nil {
		updated.State = cluster.State(enumName(mesos.TaskState_name, int32(*s.State), "TASK_"))
	}
	if s.Reason != nil {
		updated.Reason = strings.TrimPrefix(enumName(mesos.TaskStatus_Reason_name, int32(*s.Reason), ""), "REASON_")
	}
	if s.Source != nil {
		updated.Source = strings.TrimPrefix(enumName(mesos.TaskStatus_Source_name, int32(*s.Source), ""), "SOURCE_")
	}
	if len(s.UUID) > 0 {
		updated.UUID = slices.Clone(s.UUID)
	}
	return updated
}

// enumName names an enum value; one that a later Mesos has added becomes the prefix with its number.
func enumName(names map[int32]string, value int32, prefix string) string {
	if name, known := names[value]; known {
		return name
	}
	return prefix + strconv.Itoa(int(value))
}

func addresses(status *mesos.ContainerStatus) (found []string) {
	if status == nil {
		return nil
	}
	for _, network := range status.NetworkInfos {
		for _, address := range network.IPAddresses {
			if ip := address.GetIPAddress(); ip != "" {
				found = append(found, ip)
			}
		}
	}
	return found
}
