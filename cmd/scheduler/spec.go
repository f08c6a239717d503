package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/spec"
)

// read returns the validated spec of a command, with a name.
func (f *specFlags) read(command []string) (cluster.Spec, error) {
	s, err := f.parse(command)
	var problems spec.Problems
	switch {
	case errors.As(err, &problems):
		fmt.Fprintln(os.Stderr, problems.Error())
		return s, usage("%s, nothing was started", countProblems(len(problems)))
	case err != nil:
		return s, err
	}
	if s.Name == "" {
		s.Name = inventName(&s)
	}
	return s, nil
}

func countProblems(n int) string {
	if n == 1 {
		return "the spec has 1 problem"
	}
	return fmt.Sprintf("the spec has %d problems", n)
}

func (f *specFlags) parse(command []string) (cluster.Spec, error) {
	defaults := spec.Defaults{Name: f.Name, Image: f.Image, Containerizer: f.Containerizer, Role: f.Role, Attributes: f.Attributes}
	dir, err := os.Getwd()
	if err != nil {
		return cluster.Spec{}, fmt.Errorf("find the current directory: %w", err)
	}
	defaults.Dir = dir
	if f.Spec == "" {
		return spec.FromFlags(spec.Flags{Defaults: defaults, Chief: f.Chief, PS: f.PS, Worker: f.Worker, Evaluator: f.Evaluator,
			CPUs: f.CPUs, Mem: f.Mem, WorkerGPUs: f.WorkerGPUs, Command: command})
	}
	if given := f.jobFlags(); given != "" {
		return cluster.Spec{}, usage("%s: a spec says that itself; give either a spec or flags", given)
	}
	if len(command) > 0 {
		return cluster.Spec{}, usage("-- %s: a spec says the command itself; give either a spec or flags", strings.Join(command, " "))
	}
	if f.Spec == "-" {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return cluster.Spec{}, fmt.Errorf("read the spec from standard input: %w", err)
		}
		return spec.Parse("standard input", text, defaults)
	}
	text, err := os.ReadFile(f.Spec)
	if err != nil {
		return cluster.Spec{}, usage("read the spec: %v", err)
	}
	path, err := filepath.Abs(f.Spec)
	if err != nil {
		return cluster.Spec{}, fmt.Errorf("find the spec's directory: %w", err)
	}
	defaults.Dir = filepath.Dir(path)
	return spec.Parse(f.Spec, text, defaults)
}

func (f *specFlags) jobFlags() string {
	for _, flag := range []struct{ name, value string }{{"--chief", f.Chief}, {"--ps", f.PS}, {"--worker", f.Worker}, {"--evaluator", f.Evaluator},
		{"--cpus", f.CPUs}, {"--mem", f.Mem}, {"--worker-gpus", f.WorkerGPUs}} {
		if flag.value != "" {
			return flag.name + " " + flag.value
		}
	}
	return ""
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// inventName returns PROGRAM-4hex: the program of the first command, else of the first job.
func inventName(s *cluster.Spec) string {
	base := s.Jobs[0].Name
	for _, job := range s.Jobs {
		if len(job.Command) > 0 {
			base = programOf(job.Command)
			break
		}
	}
	base = strings.Trim(notInName.ReplaceAllString(strings.ToLower(base), "-"), "-")
	if base == "" {
		base = "run"
	}
	return strings.TrimRight(base[:min(len(base), 30)], "-") + "-" + randomHex(2)
}

// programOf names a command by its script, as in train for python train.py --steps 3.
func programOf(command []string) string {
	words := command
	if len(command) == 3 && command[0] == "/bin/sh" {
		words = strings.Fields(command[2])
	}
	for _, word := range words {
		word = strings.Trim(word, `"'`)
		if ext := filepath.Ext(word); ext == ".py" || ext == ".sh" {
			return strings.TrimSuffix(filepath.Base(word), ext)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return filepath.Base(words[0])
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
