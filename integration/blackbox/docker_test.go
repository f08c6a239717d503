//go:build integration

package blackbox_test

import (
	"fmt"
	"os"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

func TestATaskRunsInAContainerOfDockerWithItsFilesAndOptions(t *testing.T) {
	t.Parallel()
	p := onMesos(t, os.Getenv("PATH"), mesosrig.WithDocker())
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/words.txt", []byte("from the folder\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := write(t, "spec.yaml", fmt.Sprintf(`image: %s
volumes: [%s:/opt/tfmesos:ro]
docker_parameters: {shm-size: 65m}
uris: [{value: /v0/download/words.txt, extract: false}]
jobs:
  - name: worker
    command: "cat $MESOS_SANDBOX/words.txt; echo shm $(df -m --output=size /dev/shm | tail -1); touch /opt/tfmesos/x || echo read-only"
`, p.rig.Docker().Image(), bin), 0o600)
	r := p.start(t, "--sidecar", "/opt/tfmesos/sidecar", "--download-dir", folder, spec)
	r.prints("^from the folder$")
	r.prints("^shm 65$")
	r.prints("^read-only$")
	r.ends(0, "finished")
}
