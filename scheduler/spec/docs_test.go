package spec

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func reference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheReferenceHasEachFieldAndNoOther(t *testing.T) {
	documented := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(reference(t), -1) {
		for _, where := range strings.Split(row[2], ", ") {
			documented[where] = append(documented[where], row[1])
		}
	}
	read := map[string][]string{"cluster": slices.Clone(clusterFields), "job": slices.Clone(jobFields), "deadlines": slices.Clone(deadlineFields), "uris": slices.Clone(uriFields)}
	for _, fields := range []map[string][]string{documented, read} {
		for _, names := range fields {
			slices.Sort(names)
		}
	}
	if diff := cmp.Diff(read, documented); diff != "" {
		t.Errorf("docs/spec.md and the fields that are read differ (-read +documented):\n%s", diff)
	}
}

func TestTheReferenceNamesTheFieldsOfLaterVersions(t *testing.T) {
	text := reference(t)
	for _, name := range laterFields {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/spec.md does not say that %s is for a later version", name)
		}
	}
}

func TestTheExamplesOfTheReferenceAreGoodSpecs(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```(?:yaml|json)\n(.*?)```").FindAllStringSubmatch(reference(t), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/spec.md has no example")
	}
	for _, block := range blocks {
		if _, err := Parse("docs/spec.md", []byte(block[1]), Defaults{}); err != nil {
			t.Errorf("an example of docs/spec.md is refused:\n%v\n%s", err, block[1])
		}
	}
}
