package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"tfmesos/scheduler/runfile"
	"tfmesos/scheduler/view"
	"tfmesos/shared/callback"
)

// Run shows a live run by asking its scheduler, an ended one from its final.json.
func (s *statusCommand) Run() error {
	name, err := s.find()
	if err != nil {
		return err
	}
	status, err := fetchStatus(name)
	if err != nil {
		return err
	}
	if s.Output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	view.Status(os.Stdout, status, time.Now())
	return nil
}

func (s *statusCommand) find() (string, error) {
	if s.Name != "" {
		return s.Name, nil
	}
	names, err := runfile.Live()
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", usage("nothing runs here; name a run that has ended: scheduler status NAME")
	case len(names) > 1:
		return "", usage("several runs: %s; name one: scheduler status NAME", strings.Join(names, ", "))
	}
	return names[0], nil
}

func fetchStatus(name string) (callback.Status, error) {
	run, err := runfile.Read(name)
	if errors.Is(err, runfile.ErrNotFound) {
		final, err := runfile.ReadFinal(name)
		if errors.Is(err, runfile.ErrNotFound) {
			return final, usage("no run %q on this machine", name)
		}
		final.Events = nil
		return final, err
	}
	if err != nil {
		return callback.Status{}, err
	}
	status, err := askScheduler(run)
	if err != nil {
		return status, usage("%s: its scheduler (process %d) does not answer at %s: %v; the same run command resumes it, and its state is in Redis", name, run.PID, run.Address, err)
	}
	return status, nil
}

func askScheduler(run runfile.Run) (callback.Status, error) {
	var status callback.Status
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, run.Address+callback.PathCluster, nil)
	if err != nil {
		return status, err
	}
	request.Header.Set("Authorization", "Bearer "+run.Token)
	answer, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	if err != nil {
		return status, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return status, err
	}
	if answer.StatusCode != http.StatusOK {
		return status, fmt.Errorf("%s", answer.Status)
	}
	return status, json.Unmarshal(body, &status)
}
