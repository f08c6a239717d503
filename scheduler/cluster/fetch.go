package cluster

import (
	"slices"
	"strings"

	"tfmesos/shared/callback"
)

// downloadToken returns the capability of a launch for the files of the download folder that its spec names.
func downloadToken(secret []byte, taskID string) string { return Token(secret, taskID+" download") }

// OwnFile returns the file of our download folder that a URI of the spec means, or "": it is written as a path that begins
// as callback.PathV0Download does, or as such a path at one of the callback URLs.
func OwnFile(value string, callbacks []string) string {
	if file, ok := strings.CutPrefix(value, callback.ForFile("")); ok {
		return file
	}
	for _, url := range callbacks {
		if file, ok := strings.CutPrefix(value, url+callback.ForFile("")); ok {
			return file
		}
	}
	return ""
}

func (d *decider) fetchesOurs(job *Job) bool {
	return slices.ContainsFunc(job.URIs, func(u URI) bool { return OwnFile(u.Value, d.Settings.Callbacks) != "" })
}

// uris returns what the fetcher is to bring.
func (d *decider) uris(t *Task, job *Job) []URI {
	var uris []URI
	us := ""
	if len(d.Settings.Callbacks) > 0 {
		us = d.Settings.Callbacks[0]
	}
	for _, uri := range job.URIs {
		if file := OwnFile(uri.Value, d.Settings.Callbacks); file != "" {
			uri.Value = us + callback.ForFile("~"+downloadToken(d.Settings.Secret, t.TaskID)+"/"+file)
		}
		uris = append(uris, uri)
	}
	return uris
}
