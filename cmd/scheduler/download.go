package main

import (
	"slices"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/httpapi"
)

// checkDownloads refuses a spec whose tasks would fetch a file from us that is not there: each would fail on its agent.
func (h *house) checkDownloads(spec *cluster.Spec, callbacks []string) error {
	var missing []string
	for _, job := range spec.Jobs {
		for _, uri := range job.URIs {
			file := cluster.OwnFile(uri.Value, callbacks)
			if file == "" || slices.Contains(missing, file) {
				continue
			}
			if h.run.DownloadDir == "" {
				return usage("uris of job %s: %s: want --download-dir, the folder that has the file", job.Name, uri.Value)
			}
			if err := httpapi.CheckDownload(h.run.DownloadDir, file); err != nil {
				missing = append(missing, file)
			}
		}
	}
	if len(missing) > 0 {
		return usage("--download-dir %s: the spec fetches %q, which is no file in there that can be fetched", h.run.DownloadDir, missing)
	}
	return nil
}
