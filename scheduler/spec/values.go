package spec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

const (
	dockerContainerizer = "DOCKER"
	mesosContainerizer  = "MESOS"
)

// The most that a spec may ask for. Both are far beyond any use, and keep arithmetic and memory from overflowing.
const (
	maxAmount = 1e9
	maxTasks  = 10_000
)

var (
	clusterNames = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)
	// TensorFlow aborts the process of a server whose job name is not this (DeviceNameUtils::ParseFullName).
	jobNames = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)
	envNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	images   = regexp.MustCompile(`^[A-Za-z0-9][^\s\x00-\x1f\x7f]*$`)
	users    = regexp.MustCompile(`^[A-Za-z0-9_][^\s:\x00-\x1f\x7f]*$`)
	decimals = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	sizes    = regexp.MustCompile(`^([0-9.]+) ?([A-Za-z]+)$`)
)

// units are those of mem, in bytes. Those without an i or a B are left out: 8G is 8 GiB to Docker and 8 GB to others.
var units = map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}

// orNone makes null the zero value.
func orNone[T any](as func(*node) (T, string)) func(*node) (T, string) {
	return func(n *node) (T, string) {
		if n.kind == nothing {
			var zero T
			return zero, ""
		}
		return as(n)
	}
}

func matching(n *node, wanted *regexp.Regexp, rule string) (string, string) {
	if n.kind != scalar || !wanted.MatchString(n.text) {
		return "", rule
	}
	return n.text, ""
}

func clusterName(n *node) (string, string) {
	return matching(n, clusterNames, "want 1 to 40 of a-z, 0-9 and -, with no - at either end")
}

func jobName(n *node) (string, string) {
	return matching(n, jobNames, "want a letter, then letters, digits and _, at most 40: TensorFlow takes no other name")
}

func image(n *node) (string, string) {
	return matching(n, images, "want an image, as in tensorflow/tensorflow:2.21.0")
}

func user(n *node) (string, string) { return matching(n, users, "want the name of a user") }

func containerizer(n *node) (string, string) {
	if n.kind != scalar || n.text != dockerContainerizer && n.text != mesosContainerizer {
		return "", "want DOCKER or MESOS"
	}
	return n.text, ""
}

var share = regexp.MustCompile(`^([1-9]|[1-9][0-9]|100)%$`)

func success(n *node) (string, string) {
	if n.kind != scalar || n.text != "all" && n.text != "any" && !share.MatchString(n.text) {
		return "", "want all, any, or a share of the workers from 1% to 100%"
	}
	return n.text, ""
}

// role takes what Mesos takes (roles::validate in common/roles.cpp); a / separates the levels of a hierarchy.
func role(n *node) (string, string) {
	const rule = "want a Mesos role: no blanks, no level that is empty, . or .., or begins with -"
	if n.kind != scalar || n.text == "" {
		return "", rule
	}
	levels := strings.Split(n.text, "/")
	for _, level := range levels {
		if level == "" || level == "." || level == ".." || level[0] == '-' || level == "*" && len(levels) > 1 ||
			strings.ContainsAny(level, " \t\n\v\f\r\b\x00") {
			return "", rule
		}
	}
	return n.text, ""
}

func workdir(n *node) (string, string) {
	if n.kind != scalar || !absolute(n.text) {
		return "", "want an absolute path"
	}
	return n.text, ""
}

func absolute(name string) bool { return path.IsAbs(name) && !strings.ContainsRune(name, 0) }

func truth(n *node) (bool, string) {
	if n.kind == scalar && !n.quoted && (n.text == "true" || n.text == "false") {
		return n.text == "true", ""
	}
	return false, "want true or false"
}

// number returns the value of a decimal number; ok is false for anything else, as for 010 (8 or 10?) and "2" in quotes.
func number(n *node) (v float64, ok bool) {
	if n.kind != scalar || n.quoted || !decimals.MatchString(n.text) {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	return v, err == nil
}

// whole returns a whole number from 0 to most.
func whole(n *node, most float64) (float64, bool) {
	v, ok := number(n)
	return v, ok && v >= 0 && v <= most && v == float64(int64(v))
}

func count(n *node) (int, string) {
	v, ok := whole(n, maxTasks)
	if !ok {
		return 0, fmt.Sprintf("want a whole number of tasks, from 0 to %d", maxTasks)
	}
	return int(v), ""
}

func gpus(n *node) (offer.Milli, string) {
	v, ok := whole(n, maxTasks)
	if !ok {
		return 0, "want a whole number of GPUs"
	}
	return offer.FromFloat(v), ""
}

func cpus(n *node) (offer.Milli, string) {
	v, ok := number(n)
	if !ok || v > maxAmount || offer.FromFloat(v) <= 0 {
		return 0, "want a number of CPUs above 0, as in 0.5"
	}
	return offer.FromFloat(v), ""
}

func mem(n *node) (offer.Milli, string) {
	const rule = "want memory above 0: a number of MiB, or one with KiB, MiB, GiB, TiB, KB, MB, GB or TB, as in 8GiB"
	v, ok := number(&node{kind: n.kind, text: n.text}) // in quotes too: only a text can have a unit in JSON
	if parts := sizes.FindStringSubmatch(n.text); parts != nil {
		v, ok = number(&node{kind: n.kind, text: parts[1]})
		unit, known := units[parts[2]]
		v, ok = v*unit/(1<<20), ok && known
	}
	if !ok || v > maxAmount || offer.FromFloat(v) <= 0 {
		return 0, rule
	}
	return offer.FromFloat(v), ""
}

func duration(n *node) (time.Duration, string) {
	if n.kind == scalar && n.text == "none" {
		return 0, ""
	}
	d, err := time.ParseDuration(n.text) // "0" is one
	if n.kind != scalar || err != nil || d < 0 {
		return 0, "want a time with its unit, as in 90s, 15m or 2h30m, or none"
	}
	return d, ""
}

// command returns the argv of a command, nil for null.
func (r *reader) command(v value) []string {
	const rule = `want a program: a text for /bin/sh -c, a list of arguments, or null for none`
	switch v.kind {
	case nothing:
		return nil
	case scalar:
		if strings.TrimSpace(v.text) == "" || strings.ContainsRune(v.text, 0) {
			r.wrong(v, rule)
		}
		return []string{"/bin/sh", "-c", v.text}
	case mapping:
		r.wrong(v, rule)
		return nil
	}
	if len(v.items) == 0 || v.items[0].kind == scalar && v.items[0].text == "" {
		r.wrong(v, rule)
	}
	argv := make([]string, len(v.items))
	for i, item := range v.items {
		if item.kind != scalar || strings.ContainsRune(item.text, 0) {
			r.wrong(v.item(i), "want an argument: a text without NUL bytes")
		}
		argv[i] = item.text
	}
	return argv
}

// env adds the variables to into. Their values are never shown.
func (r *reader) env(v value, into *map[string]*string) {
	if v.kind == nothing {
		return
	}
	if v.kind != mapping {
		v.secret = true
		r.wrong(v, "want a mapping, as in {NAME: value}")
		return
	}
	if *into == nil {
		*into = map[string]*string{}
	}
	for _, f := range v.fields {
		name := f.key.text
		at := value{f.key, v.path + "." + showText(name, false), true}
		switch {
		case !envNames.MatchString(name):
			r.wrong(at, "want a name of letters, digits and _, no digit first")
		case reserved(name):
			r.wrong(at, "tfmesos sets this variable itself: want another name")
		case f.value.kind == nothing:
			(*into)[name] = nil
		case f.value.kind != scalar || strings.ContainsRune(f.value.text, 0):
			r.wrong(value{f.value, at.path, true}, "want a text without NUL bytes, a number, true, false, or null for the value it has where scheduler runs")
		default:
			text := f.value.text
			(*into)[name] = &text
		}
	}
}

// reserved tells whether the scheduler or the sidecar sets the variable.
func reserved(name string) bool {
	return strings.HasPrefix(name, "TFMESOS_") ||
		slices.Contains([]string{"TF_CONFIG", "TFMESOS2_CLIENT_USERNAME", "TFMESOS2_CLIENT_PASSWORD"}, name)
}

func (r *reader) volumes(v value) []cluster.Volume {
	if v.kind != nothing && v.kind != list {
		r.wrong(v, "want a list, as in [/data:/data:ro]")
		return nil
	}
	var volumes []cluster.Volume
	for i := range v.items {
		item := v.item(i)
		volume, rule := volume(item.node)
		taken := slices.ContainsFunc(volumes, func(w cluster.Volume) bool { return w.ContainerPath == volume.ContainerPath })
		if rule == "" && taken {
			rule = "want each container path once"
		}
		if rule != "" {
			r.wrong(item, rule)
			continue
		}
		volumes = append(volumes, volume)
	}
	return volumes
}

func volume(n *node) (cluster.Volume, string) {
	parts := strings.Split(n.text, ":")
	readOnly := len(parts) == 3 && parts[2] == "ro"
	if n.kind != scalar || len(parts) != 2 && !readOnly || !absolute(parts[0]) || !absolute(parts[1]) || path.Clean(parts[1]) == "/" {
		return cluster.Volume{}, "want HOST:CONTAINER or HOST:CONTAINER:ro, both absolute paths"
	}
	return cluster.Volume{HostPath: parts[0], ContainerPath: parts[1], ReadOnly: readOnly}, ""
}
