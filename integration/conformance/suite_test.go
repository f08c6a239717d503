//go:build integration

package conformance_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write down anew what the masters say")

// told is a story and the name of its files.
type told struct {
	name   string
	tell   func(*story)
	codecs []codec
}

var stories = slices.Concat(httpStories, subscriptionStories, offerStories, taskStories, reconcileStories, maintenanceStories)

// TestTheRealMesosAnswersAsWrittenDown keeps testdata true.
func TestTheRealMesosAnswersAsWrittenDown(t *testing.T) {
	m := startMesos(t)
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			for _, c := range s.codecs {
				t.Run(c.name, func(t *testing.T) {
					expect(t, filepath.Join("testdata", s.name+".txt"), tell(t, m, c, s), true)
				})
			}
		})
	}
}

// TestTheLocalMesosAnswersAsTheRealOneDoes tells each story to both masters in both encodings. What they say is what testdata has,
// NAME.txt of both, or NAME.local.txt of the local Mesos where docs/stand-in.md allows a difference.
func TestTheLocalMesosAnswersAsTheRealOneDoes(t *testing.T) {
	differs := allowed(t)
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			for _, c := range s.codecs {
				t.Run(c.name, func(t *testing.T) {
					file := localFile(s.name, differs)
					expect(t, file, tell(t, startStandIn(t), c, s), strings.HasSuffix(file, ".local.txt"))
				})
			}
		})
	}
}

func localFile(name string, differs []string) string {
	if slices.Contains(differs, name) {
		name += ".local"
	}
	return filepath.Join("testdata", name+".txt")
}

func tell(t *testing.T, m master, c codec, s told) string {
	t.Helper()
	page := &story{t: t, master: m, codec: c, names: map[string]string{}}
	defer page.end()
	s.tell(page)
	return page.text()
}

// written are the files that are written anew.
var written = map[string]bool{}

func expect(t *testing.T, file, got string, mayWrite bool) {
	t.Helper()
	if *rewrite && !written[file] && mayWrite { // the other encoding must say the same
		written[file] = true
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the master does not say what %s has (-want +got):\n%s", file, diff)
	}
}

// allowed are the names of the stories that the list of docs/stand-in.md gives for a difference.
func allowed(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/stand-in.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		names = append(names, row[1])
	}
	return names
}

// TestEachAllowedDifferenceIsOne keeps the list short: what does not differ any more has to go.
func TestEachAllowedDifferenceIsOne(t *testing.T) {
	differs := allowed(t)
	if len(differs) == 0 {
		t.Fatal("docs/stand-in.md lists no differences: its rows are not read")
	}
	for _, name := range differs {
		if !slices.ContainsFunc(stories, func(s told) bool { return s.name == name }) {
			t.Errorf("docs/stand-in.md names the story %q, which is not told", name)
			continue
		}
		real, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := os.ReadFile(localFile(name, differs))
		if err != nil {
			t.Fatal(err)
		}
		if string(real) == string(ours) {
			t.Errorf("docs/stand-in.md allows a difference in %q, and there is none: take the row out", name)
		}
	}
	files, _ := filepath.Glob("testdata/*.local.txt")
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".local.txt"); !slices.Contains(differs, name) {
			t.Errorf("%s is a difference that docs/stand-in.md does not allow", file)
		}
	}
}
