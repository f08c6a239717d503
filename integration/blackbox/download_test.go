//go:build integration

package blackbox_test

import (
	"os"
	"path/filepath"
	"testing"
)

const fetching = `jobs:
  - {name: worker, command: "cat here/words.txt", uris: [{value: /v0/download/data/words.txt, extract: false, output_file: here/words.txt}]}
`

func TestATaskFindsTheFilesOfTheDownloadFolderInItsSandbox(t *testing.T) {
	t.Parallel()
	spec, folder := write(t, "spec.yaml", fetching, 0o600), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "data", "words.txt"), []byte("from the folder\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := onMesos(t, os.Getenv("PATH")).start(t, "--download-dir", folder, spec)
	r.prints("^from the folder$")
	r.ends(0, "finished")
}

func TestASpecThatFetchesWhatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	spec := write(t, "spec.yaml", fetching, 0o600)
	r := local().start(t, spec)
	r.ends(2, "/v0/download/data/words.txt", "--download-dir")
	folder := t.TempDir()
	r = local().start(t, "--download-dir", folder, spec)
	r.ends(2, folder, "data/words.txt")
}
