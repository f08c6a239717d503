package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fetchURI is what is used of Mesos' CommandInfo.URI. Caching is left out: each launch fetches anew.
type fetchURI struct {
	Value      string `json:"value"`
	Extract    *bool  `json:"extract"` // true where it is not said
	Executable bool   `json:"executable"`
	OutputFile string `json:"output_file"`
}

// fetchAll brings each URI of the FetcherInfo (JSON) into the sandbox, in order; the first that cannot be had ends it.
func fetchAll(info string) error {
	var fetch struct {
		Sandbox string `json:"sandbox_directory"`
		Items   []struct {
			URI fetchURI `json:"uri"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(info), &fetch); err != nil {
		return fmt.Errorf("read MESOS_FETCHER_INFO: %w", err)
	}
	for _, item := range fetch.Items {
		if err := fetchOne(item.URI, fetch.Sandbox); err != nil {
			return fmt.Errorf("fetch %s: %w", item.URI.Value, err)
		}
	}
	return nil
}

func fetchOne(uri fetchURI, sandbox string) error {
	name := uri.OutputFile
	if name == "" {
		name = filepath.Base(uri.Value)
	}
	target := filepath.Join(sandbox, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	source, err := open(uri.Value)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := save(target, source); err != nil {
		return err
	}
	if uri.Executable {
		return os.Chmod(target, 0o755)
	}
	if uri.Extract == nil || *uri.Extract {
		return extract(target, sandbox)
	}
	return nil
}

// open returns the body of an http(s) URL, or a file of this machine.
func open(value string) (io.ReadCloser, error) {
	if !strings.HasPrefix(value, "http://") && !strings.HasPrefix(value, "https://") {
		return os.Open(strings.TrimPrefix(value, "file://"))
	}
	response, err := http.Get(value)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("answer %s", response.Status)
	}
	return response.Body, nil
}

func save(target string, source io.Reader) error {
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, source); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// extract unpacks what Mesos recognises as an archive, by the suffix of its name.
func extract(archive, into string) error {
	var cmd *exec.Cmd
	switch {
	case hasAnySuffix(archive, ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz"):
		cmd = exec.Command("tar", "-C", into, "-xf", archive)
	case strings.HasSuffix(archive, ".zip"):
		cmd = exec.Command("unzip", "-o", "-d", into, archive)
	default:
		return nil
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack: %w: %s", err, out)
	}
	return nil
}

func hasAnySuffix(name string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
