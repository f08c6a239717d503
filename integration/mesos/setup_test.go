package mesosrig

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsMissingIsNamedWithItsPackage(t *testing.T) {
	t.Setenv("TFMESOS_RIG", t.TempDir())
	t.Setenv("TFMESOS_TEST_PYTHON", "/no/such/python")
	t.Setenv("PATH", t.TempDir())
	err := Setup(t.Context(), Config{})
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("want ErrUnavailable, got %v", err)
	}
	for _, want := range []string{"gcc", "g++", "go", "pip of /no/such/python", "apt-get install", "python3-pip"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in: %v", want, err)
		}
	}
}

func TestPackagesFileHasAllThatIsNeeded(t *testing.T) {
	content, err := os.ReadFile("packages.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(content))
	for _, n := range slices.Concat(runNeeds, buildNeeds, dockerNeeds, imageNeeds, zooKeeperNeeds) {
		if n.name != "go" && n.name != "tar" && !slices.Contains(listed, n.debian) { // whoever runs this has Go, seldom from Debian; each Debian has tar
			t.Errorf("%s (for %s) is not in packages.txt", n.debian, n.name)
		}
	}
}

func TestVersionMapChainsVersions(t *testing.T) {
	got := versionMap(map[string][]string{"V_2": {"c"}, "V_1": {"a", "b"}})
	want := "V_1 { global: a; b; local: *; };\nV_2 { global: c; } V_1;\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
