package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository maps the names of Go files to their text.
type repository map[string]string

// TestEachRuleFindsWhatIsPlanted shows each rule a small repository; want is
// where violations are, and everything else in it is fine.
func TestEachRuleFindsWhatIsPlanted(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  rule
		files repository
		want  []string
	}{
		{"an adapter imports the loop, another adapter, and what it may", shipped(importDirection), repository{
			"scheduler/store/a.go":           "package store\nimport _ \"tfmesos/scheduler\"\nimport _ \"tfmesos/scheduler/mesos\"\nimport _ \"tfmesos/scheduler/cluster\"\nimport _ \"tfmesos/shared/tf\"",
			"scheduler/store/a_test.go":      "package store\nimport _ \"tfmesos/scheduler\"",
			"scheduler/store/storetest/a.go": "package storetest\nimport _ \"tfmesos/scheduler/store\"",
		}, []string{"scheduler/store/a.go:2", "scheduler/store/a.go:3"}},
		{"the loop imports an adapter", shipped(importDirection), repository{
			"scheduler/a.go": "package scheduler\nimport _ \"tfmesos/scheduler/cluster\"\nimport _ \"tfmesos/scheduler/store\"",
			"sidecar/a.go":   "package sidecar\nimport _ \"tfmesos/sidecar/launch\"",
		}, []string{"scheduler/a.go:3", "sidecar/a.go:2"}},
		{"offer and reconcile know of cluster", shipped(importDirection), repository{
			"scheduler/offer/a.go":     "package offer\nimport _ \"tfmesos/scheduler/cluster\"",
			"scheduler/reconcile/a.go": "package reconcile\nimport _ \"tfmesos/scheduler/cluster\"",
			"scheduler/cluster/a.go":   "package cluster\nimport _ \"tfmesos/scheduler/offer\"",
		}, []string{"scheduler/offer/a.go:2", "scheduler/reconcile/a.go:2"}},
		{"scheduler and sidecar import one another", shipped(importDirection), repository{
			"scheduler/httpapi/a.go": "package httpapi\nimport _ \"tfmesos/sidecar/boot\"",
			"sidecar/launch/a.go":    "package launch\nimport _ \"tfmesos/scheduler/cluster\"",
			"cmd/sidecar/main.go":    "package main\nimport _ \"tfmesos/sidecar\"\nimport _ \"tfmesos/scheduler\"",
		}, []string{"cmd/sidecar/main.go:3", "scheduler/httpapi/a.go:2", "sidecar/launch/a.go:2"}},
		{"shared imports what is not shared", shipped(importDirection), repository{
			"shared/callback/a.go": "package callback\nimport _ \"tfmesos/shared/tf\"\nimport _ \"tfmesos/scheduler/cluster\"",
		}, []string{"shared/callback/a.go:3"}},
		{"dependencies leave their rooms", shipped(dependencyRooms), repository{
			"scheduler/a.go":       "package scheduler\nimport _ \"github.com/redis/go-redis/v9\"\nimport _ \"os/exec\"",
			"scheduler/store/a.go": "package store\nimport _ \"github.com/redis/go-redis/v9\"\nimport _ \"github.com/mesos/mesos-go/api/v1/lib\"",
			"scheduler/mesos/a.go": "package mesos\nimport _ \"github.com/mesos/mesos-go/api/v1/lib\"\nimport _ \"github.com/valyala/fasthttp\"",
			"sidecar/launch/a.go":  "package launch\nimport _ \"os/exec\"\nimport _ \"github.com/fasthttp/router\"",
			"sidecar/a_test.go":    "package sidecar\nimport _ \"os/exec\"",
			"bench/main.go":        "package main\nimport _ \"os/exec\"",
		}, []string{"scheduler/a.go:2", "scheduler/a.go:3", "scheduler/mesos/a.go:3", "scheduler/store/a.go:3", "sidecar/launch/a.go:3"}},
		{"more than cmd knows the local Mesos", shipped(dependencyRooms), repository{
			"cmd/scheduler/wire.go": "package main\nimport _ \"tfmesos/scheduler/local\"",
			"scheduler/a.go":        "package scheduler\nimport _ \"tfmesos/scheduler/local\"",
		}, []string{"scheduler/a.go:2"}},
		{"shipped code imports test code", shipped(noTestCode), repository{
			"scheduler/store/a.go":           "package store\nimport _ \"testing\"\nimport _ \"tfmesos/scheduler/store/storetest\"\nimport _ \"testing/fstest\"",
			"scheduler/store/storetest/a.go": "package storetest\nimport _ \"testing\"",
			"scheduler/local/a.go":           "package local\nimport _ \"tfmesos/scheduler/local/faulttest\"",
		}, []string{"scheduler/local/a.go:2", "scheduler/store/a.go:2", "scheduler/store/a.go:3", "scheduler/store/a.go:4"}},
		{"a new top level and a third program", shipped(topLevel), repository{
			"pkg/a/a.go": "package a", "cmd/tool/main.go": "package main", "cmd/sidecar/main.go": "package main", "bench/main.go": "package main",
		}, []string{"cmd/tool/main.go:1", "pkg/a/a.go:1"}},
		{"packages with names for anything", packageNames, repository{
			"shared/util/a.go": "package util", "shared/strs/a.go": "package helpers", "shared/misc/a_test.go": "package x", "shared/tf/a.go": "package tf",
		}, []string{"shared/misc/a_test.go:1", "shared/strs/a.go:1", "shared/util/a.go:1"}},

		{"pure packages import what has effects", onlyPure(purityOfImports), repository{
			"scheduler/offer/a.go": "package offer\nimport \"os\"\nimport \"log/slog\"\nimport \"fmt\"\nimport \"tfmesos/shared/tf\"\nimport \"tfmesos/shared/logkey\"\nimport \"github.com/goccy/go-yaml\"",
			"scheduler/a.go":       "package scheduler\nimport \"os\"",
			"shared/tf/a_test.go":  "package tf\nimport \"os\"",
		}, []string{"scheduler/offer/a.go:2", "scheduler/offer/a.go:3", "scheduler/offer/a.go:6", "scheduler/offer/a.go:7"}},
		{"pure packages read the clock, start goroutines and print", onlyPure(purityOfCode), repository{
			"sidecar/boot/a.go": "package boot\nimport (\n\"fmt\"\nclock \"time\"\n)\nfunc f() {\n_ = clock.Now()\ngo f()\nfmt.Println(1)\nprintln(2)\nnow := clock.Now\n_ = fmt.Sprint(now, clock.Second)\n}",
			"sidecar/a.go":      "package sidecar\nimport \"time\"\nvar _ = time.Now()",
		}, []string{"sidecar/boot/a.go:7", "sidecar/boot/a.go:8", "sidecar/boot/a.go:9", "sidecar/boot/a.go:10", "sidecar/boot/a.go:11"}},

		{"package comments: none, two, elsewhere, wrong", packageComments, repository{
			"shared/none/a.go": "package none", "shared/none/a_test.go": "// Package none is commented in a test.\npackage none",
			"shared/two/a.go": "// Package two is.\npackage two", "shared/two/doc.go": "// Package two is.\npackage two",
			"shared/elsewhere/a.go": "// Package elsewhere is.\npackage elsewhere", "shared/elsewhere/b.go": "package elsewhere",
			"shared/wrong/a.go":     "// This is package wrong.\npackage wrong",
			"shared/fine/doc.go":    "// Package fine is.\npackage fine",
			"shared/fine/b.go":      "//go:build linux\n\npackage fine",
			"cmd/scheduler/main.go": "// Scheduler runs.\npackage main", "cmd/scheduler/b.go": "package main",
			"cmd/sidecar/main.go": "package main",
		}, []string{"cmd/sidecar/main.go:1", "shared/elsewhere/a.go:2", "shared/none/a.go:1", "shared/two/doc.go:2", "shared/wrong/a.go:1"}},
		{"exported names without a comment", shipped(exportedDocs), repository{
			"shared/tf/a.go": "package tf\ntype T struct{}\nfunc F() {}\nfunc (T) M() {}\nvar V, w int\nconst (\nC = 1\nD = 2 // is two\n)\n" +
				"func (T) String() string { return \"\" }\nfunc (t) M() {}\nfunc f() {}\n// G has one.\nfunc G() {}\n// Both.\nconst (\nX = 1\nY = 2\n)\ntype (\n// P has one.\nP int\nQ[A any] int\n)\nfunc (*Q[A]) M() {}",
			"cmd/scheduler/main.go": "package main\ntype T struct{}",
			"shared/tf/b.go":        "// Code generated by x. DO NOT EDIT.\n\npackage tf\nfunc H() {}",
		}, []string{"shared/tf/a.go:2", "shared/tf/a.go:3", "shared/tf/a.go:4", "shared/tf/a.go:5", "shared/tf/a.go:7", "shared/tf/a.go:23", "shared/tf/a.go:25"}},

		{"a file that is too long", shipped(fileLength), repository{
			"shared/tf/long.go":      "package tf\n" + strings.Repeat("\n", maxFileLines),
			"shared/tf/long_test.go": "package tf\n" + strings.Repeat("\n", maxFileLines),
			"shared/tf/generated.go": "// Code generated by x. DO NOT EDIT.\n\npackage tf\n" + strings.Repeat("\n", maxFileLines),
			"shared/tf/fits.go":      "package tf\n" + strings.Repeat("\n", maxFileLines-1),
		}, []string{"shared/tf/long.go:1"}},
		{"a function that is too long", shipped(functionLength), repository{
			"shared/tf/a.go": "package tf\nfunc fits() {" + strings.Repeat("\n", maxFuncLines-1) + "}\nfunc long() {" + strings.Repeat("\n", maxFuncLines) + "}\n" +
				"// It is a state switch.\nfunc fitsToo() {" + strings.Repeat("\n", maxSwitchLines-1) + "}\n// It is a state switch.\nfunc longToo() {" + strings.Repeat("\n", maxSwitchLines) + "}\n",
		}, []string{"shared/tf/a.go:62", "shared/tf/a.go:225"}},
		{"a Redis key outside of keys.go", shipped(redisKeys), repository{
			"scheduler/store/keys.go":   "package store\nconst k = \"tfmesos:clusters\"",
			"scheduler/store/a_test.go": "package store\nconst k = \"tfmesos:clusters\"",
			"scheduler/store/b.go":      "package store\nconst k = \"tfmesos:{\" + `x`\nconst l = \"tfmesos:\"\nconst m = `redis.call('GET', 'tfmesos:clusters')`\nconst message = \"tfmesos: not here\"",
		}, []string{"scheduler/store/b.go:2", "scheduler/store/b.go:3", "scheduler/store/b.go:4"}},
		{"a sleep without a reason", shipped(sleeps), repository{
			"sidecar/a.go": "package sidecar\nimport \"time\"\nfunc f() {\ntime.Sleep(1)\n_ = 1\n// Nothing tells us.\ntime.Sleep(1)\ntime.Sleep(1) // nothing tells us\n_ = 1\ntime.Sleep(1)\n}",
		}, []string{"sidecar/a.go:4", "sidecar/a.go:10"}},
		{"an error that says failed to", shipped(errorStrings), repository{
			"sidecar/a.go": "package sidecar\nimport (\n\"errors\"\n\"fmt\"\n)\nvar a = errors.New(\"sidecar: Failed to start\")\nvar b = fmt.Errorf(\"failed to save: %w\", a)\nvar c = fmt.Errorf(\"save: %w\", a)\nvar d = \"failed to be an error\"",
		}, []string{"sidecar/a.go:6", "sidecar/a.go:7"}},
		{"a context in a struct", shipped(contextFields), repository{
			"sidecar/a.go": "package sidecar\nimport \"context\"\ntype t struct {\nctx context.Context\ncancel context.CancelFunc\n}\nfunc f(ctx context.Context) {}",
		}, []string{"sidecar/a.go:4"}},
		{"the default logger", shipped(defaultLogger), repository{
			"sidecar/a.go": "package sidecar\nimport (\n\"log\"\n\"log/slog\"\n)\nfunc f(l *slog.Logger) {\nslog.Info(\"a\")\nl.Info(\"b\", slog.String(\"k\", \"v\"))\nlog.Fatal(\"c\")\n_ = slog.Default()\n}",
		}, []string{"sidecar/a.go:7", "sidecar/a.go:9", "sidecar/a.go:10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, v := range c.rule(parsed(t, c.files)) {
				if v.todo == "" {
					t.Errorf("%s:%d: says nothing", v.path, v.line)
				}
				got = append(got, fmt.Sprintf("%s:%d", v.path, v.line))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// parsed returns the sources of the files, in order of their names.
func parsed(t *testing.T, files repository) (all []source) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s, err := parse(name, []byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestAFolderOfThisMachineIsFoundWithItsLine(t *testing.T) {
	got := machinePaths("README.md", []byte("look\nat /home/me/tfmesos/x\nand /home/me"), "/home/me/tfmesos")
	if len(got) != 1 || got[0].path != "README.md" || got[0].line != 2 {
		t.Errorf("found %v, want README.md:2", got)
	}
}

func TestTheRulesReadTheWholeRepository(t *testing.T) {
	sources, err := load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range sources {
		seen[s.path] = true
	}
	for _, name := range []string{"shared/archtest/doc.go", "shared/archtest/planted_test.go", "shared/tf/doc.go"} {
		if !seen[name] {
			t.Errorf("%s is not read, so no rule holds for it", name)
		}
	}
}
