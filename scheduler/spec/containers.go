package spec

import (
	"path"
	"slices"
	"strings"

	"tfmesos/scheduler/cluster"
)

// uris returns what the fetcher is to bring.
func (r *reader) uris(v value) []cluster.URI {
	if v.kind != nothing && v.kind != list {
		r.wrong(v, "want a list, as in [https://host/data.tgz]")
		return nil
	}
	var uris []cluster.URI
	for i := range v.items {
		item := v.item(i)
		uri := cluster.URI{Extract: true} // Mesos' own default
		if item.kind == mapping {
			r.uriFields(group{at: item.node, path: item.path}, &uri)
		} else if bare, rule := uriValue(item.node); rule != "" {
			r.wrong(item, rule)
		} else {
			uri.Value = bare
		}
		uris = append(uris, uri)
	}
	return uris
}

func (r *reader) uriFields(g group, into *cluster.URI) {
	r.onlyKnown(g, uriFields)
	if _, found := g.get("value"); !found {
		r.refuse(Problem{Line: g.at.line, Column: g.at.column, Field: g.name("value"), Rule: "want what to fetch, as in https://host/data.tgz"})
	}
	read(r, g, "value", &into.Value, uriValue)
	read(r, g, "extract", &into.Extract, truth)
	read(r, g, "executable", &into.Executable, truth)
	read(r, g, "cache", &into.Cache, truth)
	read(r, g, "output_file", &into.OutputFile, outputFile)
	v, found := g.get("extract")
	if found && into.Extract && into.Executable {
		r.wrong(v, "want extract or executable, not both: Mesos' fetcher does not extract what it makes executable")
	}
	into.Extract = into.Extract && !into.Executable
}

// uriValue takes any address without blanks and control characters; the fetcher decides what it can fetch.
func uriValue(n *node) (string, string) {
	if n.kind != scalar || n.text == "" || strings.ContainsFunc(n.text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", "want what to fetch, without blanks, as in https://host/data.tgz"
	}
	return n.text, ""
}

// outputFile keeps to the sandbox, as the fetcher does (validation.cpp, validateUris).
func outputFile(n *node) (string, string) {
	if n.kind != scalar || n.text == "" || path.IsAbs(n.text) || path.Clean(n.text) != n.text || strings.HasPrefix(n.text, "..") || strings.ContainsRune(n.text, 0) {
		return "", "want a path in the sandbox, as in data/train.csv"
	}
	return n.text, ""
}

func sidecarSource(n *node) (string, string) {
	if n.kind != scalar || n.text != cluster.SidecarOfImage {
		return "", "want image, where the sidecar is the image's entrypoint, or null"
	}
	return n.text, ""
}

// refusedParameters are the options of docker run that break out of the container, or that are said elsewhere.
var refusedParameters = map[string]string{
	"privileged": lets, "cap-add": lets, "security-opt": lets, "pid": lets, "userns": lets, "uts": lets, "cgroupns": lets, "cgroup-parent": lets,
	"device": lets, "device-cgroup-rule": lets,
	"volume": "want volumes", "v": "want volumes", "mount": "want volumes", "volumes-from": "want volumes", "env": "want env", "e": "want env",
	"env-file": "want env", "user": "want user", "u": "want user", "workdir": "want workdir", "w": "want workdir", "gpus": "want gpus",
	"cpus": "want cpus", "cpu-shares": "want cpus", "c": "want cpus", "memory": "want mem", "m": "want mem", "pull": "want force_pull_image",
	"entrypoint": "want command", "network": ofHost, "net": ofHost, "publish": ofHost, "p": ofHost, "publish-all": ofHost,
	"name": "Mesos names the container", "rm": "Mesos removes the container", "detach": "Mesos follows the container", "d": "Mesos follows the container",
	"restart": "the scheduler decides what starts again", "init": "the sidecar is process 1",
}

const (
	lets   = "this option lets tasks out of their container"
	ofHost = "tasks use the network of their host"
)

// dockerParameters returns options of docker run, sorted by name. A list says an option several times.
func (r *reader) dockerParameters(v value) []cluster.Parameter {
	if v.kind != nothing && v.kind != mapping {
		r.wrong(v, "want a mapping, as in {shm-size: 8g, ulimit: [memlock=-1]}")
		return nil
	}
	var parameters []cluster.Parameter
	for _, f := range v.fields {
		key := f.key.text
		at := value{f.key, v.path + "." + showText(key, false), false}
		why, refused := refusedParameters[key]
		values := []*node{f.value}
		if f.value.kind == list {
			values = f.value.items
		}
		switch {
		case key == "" || strings.HasPrefix(key, "-") || strings.ContainsAny(key, " =\t\n\x00"):
			r.wrong(at, "want the name of an option of docker run without dashes, as in shm-size")
			continue
		case refused:
			r.wrong(at, "an option that is refused here: "+why)
			continue
		}
		for _, one := range values {
			if one.kind != scalar || strings.ContainsRune(one.text, 0) {
				r.wrong(value{one, at.path, false}, "want a text, or a list of texts")
				continue
			}
			parameters = append(parameters, cluster.Parameter{Key: key, Value: one.text})
		}
	}
	slices.SortStableFunc(parameters, func(a, b cluster.Parameter) int { return strings.Compare(a.Key, b.Key) })
	return parameters
}
