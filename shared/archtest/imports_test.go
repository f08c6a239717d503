package archtest

import (
	"path"
	"strings"
	"testing"
)

// pure are the packages that only decide: the same input gives the same output.
var pure = []string{
	"shared/tf", "shared/backoff", "shared/callback",
	"scheduler/cluster", "scheduler/offer", "scheduler/reconcile", "sidecar/boot",
}

// directions says what of ours a package may import, besides its own room. The first row that fits a package counts; "x/..." is x and all
// below it. A package of scheduler or sidecar that no row names is an adapter.
var directions = []struct {
	importer string
	allowed  []string
}{
	{"cmd/scheduler/...", []string{"scheduler/...", "shared/..."}},
	{"cmd/sidecar/...", []string{"sidecar/...", "shared/..."}},
	{"scheduler/offer/...", []string{"shared/..."}},
	{"scheduler/reconcile/...", []string{"shared/..."}},
	{"scheduler/cluster/...", []string{"scheduler/offer", "scheduler/reconcile", "shared/..."}},
	{"scheduler/...", []string{"scheduler/cluster", "scheduler/offer", "scheduler/reconcile", "shared/..."}},
	{"sidecar/boot/...", []string{"shared/..."}},
	{"sidecar/...", []string{"sidecar/boot", "shared/..."}},
	{"shared/...", []string{"shared/..."}},
}

// rooms are the packages in which a dependency stays.
var rooms = []struct {
	dependency string
	allowed    []string
}{
	{"os/exec", []string{"sidecar/launch/...", "scheduler/local/...", "scheduler/driver/..."}},
	{"github.com/redis/go-redis/...", []string{"scheduler/store/..."}},
	{"github.com/alicebob/miniredis/...", []string{"scheduler/store/..."}},
	{"github.com/mesos/mesos-go/...", []string{"scheduler/mesos/...", "scheduler/local/..."}},
	{"github.com/go-zookeeper/...", []string{"scheduler/mesos/detector/..."}},
	{"github.com/gogo/protobuf/...", []string{"scheduler/mesos/...", "scheduler/local/..."}},
	{"github.com/valyala/fasthttp/...", []string{"scheduler/httpapi/..."}},
	{"github.com/fasthttp/...", []string{"scheduler/httpapi/..."}},
	{module + "/scheduler/local/...", []string{"cmd/scheduler/...", "scheduler/local/..."}},
}

// matches tells whether a pattern as in directions fits the name.
func matches(pattern, name string) bool {
	prefix, deep := strings.CutSuffix(pattern, "/...")
	return name == prefix || deep && strings.HasPrefix(name, prefix+"/")
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matches(p, name) {
			return true
		}
	}
	return false
}

func importDirection(s source) (found []violation) {
	for _, i := range s.imports() {
		ours, ok := strings.CutPrefix(i.path, module+"/")
		if !ok || room(ours) == room(s.dir) || isTestDir(ours) {
			continue
		}
		for _, d := range directions {
			if !matches(d.importer, s.dir) {
				continue
			}
			if !matchesAny(d.allowed, ours) {
				found = append(found, s.at(i.spec, "%s imports %s: it may import only %s; pass what it needs as a value or an interface, or wire it in cmd",
					s.dir, ours, strings.Join(d.allowed, ", ")))
			}
			break
		}
	}
	return found
}

// room is a package with all below it: scheduler/store is that of
// scheduler/store/storetest. The loops, scheduler and sidecar, are rooms alone.
func room(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	return path.Join(parts[:min(2, len(parts))]...)
}

func dependencyRooms(s source) (found []violation) {
	for _, i := range s.imports() {
		for _, r := range rooms {
			if matches(r.dependency, i.path) && !matchesAny(r.allowed, s.dir) {
				found = append(found, s.at(i.spec, "%s imports %s, which stays in %s: ask that package for what you need",
					s.dir, i.path, strings.Join(r.allowed, ", ")))
			}
		}
	}
	return found
}

func noTestCode(s source) (found []violation) {
	for _, i := range s.imports() {
		ours, ok := strings.CutPrefix(i.path, module+"/")
		if ok && isTestDir(ours) || matchesAny([]string{"testing/...", "net/http/httptest"}, i.path) {
			found = append(found, s.at(i.spec, "%s imports %s, but ships: move what needs it into a _test.go file", s.dir, i.path))
		}
	}
	return found
}

func topLevel(s source) (found []violation) {
	top, _, _ := strings.Cut(s.dir, "/")
	switch {
	case top == "cmd" && s.dir != "cmd/scheduler" && s.dir != "cmd/sidecar":
		found = append(found, s.at(s.file.Name, "there are two programs, cmd/scheduler and cmd/sidecar: make %s part of one", s.dir))
	case !matchesAny([]string{"scheduler", "sidecar", "shared", "cmd"}, top):
		found = append(found, s.at(s.file.Name, "the top level is fixed: move %s into scheduler, sidecar or shared", s.dir))
	}
	return found
}

func packageNames(sources []source) (found []violation) {
	for _, s := range sources {
		for _, bad := range []string{"util", "utils", "common", "helper", "helpers", "misc"} {
			if strings.TrimSuffix(s.file.Name.Name, "_test") == bad || path.Base(s.dir) == bad {
				found = append(found, s.at(s.file.Name, "package %s says nothing: name it after what it gives", bad))
			}
		}
	}
	return found
}

func TestImportsGoTheirOneWay(t *testing.T) { check(t, shipped(importDirection)) }

func TestEachDependencyStaysInItsRoom(t *testing.T) { check(t, shipped(dependencyRooms)) }

func TestShippedCodeImportsNoTestCode(t *testing.T) { check(t, shipped(noTestCode)) }

func TestTheTopLevelIsFixed(t *testing.T) { check(t, shipped(topLevel)) }

func TestPackagesAreNamedAfterWhatTheyGive(t *testing.T) { check(t, packageNames) }
