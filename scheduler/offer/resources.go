package offer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Milli is a scalar resource in thousandths of its unit (a CPU, a MiB, a GPU).
type Milli int64

// FromFloat rounds to three decimals as Mesos does.
func FromFloat(v float64) Milli { return Milli(math.Round(v * 1000)) }

// Float returns the quantity in its unit.
func (m Milli) Float() float64 { return float64(m) / 1000 }

// String returns the shortest decimal text, as in "0.5" or "8192".
func (m Milli) String() string { return strconv.FormatFloat(m.Float(), 'f', -1, 64) }

// MarshalJSON writes the quantity in its unit, as in 0.5.
func (m Milli) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON reads a number in the unit, rounded to three decimals.
func (m *Milli) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("offer: quantity %q: want a number", text)
	}
	*m = FromFloat(v)
	return nil
}

// Resources is an amount of each scalar resource that tasks ask for. GPUs are whole ones.
type Resources struct {
	CPUs Milli `json:"cpus"`           // CPUs
	Mem  Milli `json:"mem"`            // MiB
	Disk Milli `json:"disk,omitempty"` // MiB
	GPUs Milli `json:"gpus,omitempty"` // devices
}

// Add returns r + s.
func (r Resources) Add(s Resources) Resources {
	return Resources{CPUs: r.CPUs + s.CPUs, Mem: r.Mem + s.Mem, Disk: r.Disk + s.Disk, GPUs: r.GPUs + s.GPUs}
}

// Sub returns r - s, which may be negative.
func (r Resources) Sub(s Resources) Resources {
	return Resources{CPUs: r.CPUs - s.CPUs, Mem: r.Mem - s.Mem, Disk: r.Disk - s.Disk, GPUs: r.GPUs - s.GPUs}
}

// min returns the smaller amount of each.
func (r Resources) min(s Resources) Resources {
	return Resources{CPUs: min(r.CPUs, s.CPUs), Mem: min(r.Mem, s.Mem), Disk: min(r.Disk, s.Disk), GPUs: min(r.GPUs, s.GPUs)}
}

// Contains reports whether s fits into r.
func (r Resources) Contains(s Resources) bool {
	return r.CPUs >= s.CPUs && r.Mem >= s.Mem && r.Disk >= s.Disk && r.GPUs >= s.GPUs
}

// String lists what is not zero: "cpus 0.5, mem 1024".
func (r Resources) String() string {
	var parts []string
	for _, d := range r.dimensions() {
		if d.amount != 0 {
			parts = append(parts, fmt.Sprintf("%s %s", d.name, d.amount))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

type dimension struct {
	name   string
	amount Milli
}

func (r Resources) dimensions() []dimension {
	return []dimension{{"cpus", r.CPUs}, {"mem", r.Mem}, {"disk", r.Disk}, {"gpus", r.GPUs}}
}

// amount returns what there is of a resource by its name, 0 for another name.
func (r Resources) amount(name string) Milli {
	for _, d := range r.dimensions() {
		if d.name == name {
			return d.amount
		}
	}
	return 0
}
