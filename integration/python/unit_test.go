package python

import (
	"os"
	"os/exec"
	"testing"
)

// repository is the root of it, seen from here.
const repository = "../.."

func TestThePythonPackagePassesItsOwnTests(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		missing(t, "python3 is missing")
	}
	tests := exec.Command(python, "-B", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-t", "python", "-s", "python/tests")
	tests.Dir = repository
	tests.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1") // also for the Pythons that they start
	if out, err := tests.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", tests, err, out)
	}
}

// missing skips the test loudly, or fails it where nothing may be skipped.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s, and CI=true", what)
	}
	t.Skipf("SKIPPED: %s", what)
}
