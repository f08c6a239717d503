package mesos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

// convertOffer keeps of an offer what any task may use. The role is the one the offer is allocated to; without that (a
// master before MULTI_ROLE) it is our own.
func convertOffer(o *mesos.Offer, role string) offer.Offer {
	if allocated := o.GetAllocationInfo().GetRole(); allocated != "" {
		role = allocated
	}
	address := o.GetURL().GetAddress()
	converted := offer.Offer{
		ID: o.ID.Value, AgentID: o.AgentID.Value, Hostname: o.Hostname, Address: address.GetIP(), Role: role,
	}
	for i := range o.Resources {
		if usable(&o.Resources[i], role) {
			converted.Resources = converted.Resources.Add(scalar(o.Resources[i].Name, o.Resources[i].Scalar.Value))
		}
	}
	return converted
}

// usable tells whether a plain task of the role can be given the resource: nothing that is reserved (in either format), can
// be taken back, is shared, comes from a resource provider, or is a volume or device of its own.
func usable(r *mesos.Resource, role string) bool {
	switch {
	case r.Scalar == nil || r.GetType() != mesos.SCALAR:
		return false
	case r.GetRole() != "" && r.GetRole() != "*", r.Reservation != nil, len(r.Reservations) > 0:
		return false
	case r.Revocable != nil, r.Shared != nil, r.ProviderID != nil, r.Disk != nil:
		return false
	}
	allocated := r.GetAllocationInfo().GetRole()
	return allocated == "" || allocated == role
}

// maxScalar is more than any agent has, and far from overflowing offer.Milli.
const maxScalar = 1e12

// scalar returns an amount of one resource; other names than those tasks ask for, and what is no amount, count nothing.
func scalar(name string, value float64) (r offer.Resources) {
	if !(value > 0 && value <= maxScalar) { // NaN too
		return r
	}
	amount := offer.FromFloat(value)
	switch name {
	case "cpus":
		r.CPUs = amount
	case "mem":
		r.Mem = amount
	case "disk":
		r.Disk = amount
	case "gpus":
		r.GPUs = amount
	}
	return r
}

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
