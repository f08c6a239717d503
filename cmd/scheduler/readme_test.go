package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages have blocks of shell commands that a newcomer types.
var pages = []string{"README.md", "docs/configuration.md", "docs/troubleshooting.md", "docs/quickstart.md", "docs/moving-from-tfmesos2.md", "examples/README.md"}

// shellLines returns the commands of a page's sh blocks, without their leading assignments and trailing comments.
func shellLines(t *testing.T, page string) (lines []string) {
	t.Helper()
	assignment := regexp.MustCompile(`^([A-Z_]+=\S*\s+)+`)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
		text := strings.ReplaceAll(block[1], "\\\n", " ")
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, " #")
			if line = assignment.ReplaceAllString(strings.TrimSpace(line), ""); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func TestCommandsOfThePagesWork(t *testing.T) {
	makefile := read(t, "Makefile")
	all := map[string][]string{}
	for _, page := range pages {
		all[page] = shellLines(t, page)
	}
	t.Chdir(filepath.Join("..", ".."))
	for page, lines := range all {
		for _, line := range lines {
			words := strings.Fields(line)
			switch words[0] {
			case "make":
				if len(words) > 1 && !strings.Contains(makefile, "\n"+words[1]+":") {
					t.Errorf("%s: %s: no such target", page, line)
				}
			case "bin/scheduler":
				checkCommand(t, page, line, words[1:])
			}
		}
	}
	if len(all["README.md"]) < 5 {
		t.Errorf("README.md has only %d commands that are checked: are its blocks marked as sh?", len(all["README.md"]))
	}
}

// checkCommand parses a command line and reads the spec it names; nothing is started.
func checkCommand(t *testing.T, page, line string, words []string) {
	t.Helper()
	words, command := splitCommand(words)
	cli := &commandLine{}
	parsed, err := newParser(cli).Parse(words)
	if err != nil {
		t.Errorf("%s: %s: %v", page, line, err)
		return
	}
	if !strings.HasPrefix(parsed.Command(), "run") && !strings.HasPrefix(parsed.Command(), "plan") {
		return
	}
	flags := &cli.Run.specFlags
	if strings.HasPrefix(parsed.Command(), "plan") {
		flags = &cli.Plan.specFlags
	}
	if _, err := os.Stat(flags.Spec); flags.Spec != "" && err != nil {
		return // a reader's own
	}
	if _, err := flags.read(command); err != nil {
		t.Errorf("%s: %s: %v", page, line, err)
	}
}
