package main

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated parts of docs/configuration.md anew")

const (
	configuration = "docs/configuration.md"
	sidecarMain   = "cmd/sidecar/main.go"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// generated returns what stands between the markers of a part, with the text around it.
func generated(t *testing.T, page, part string) (before, inside, after string) {
	t.Helper()
	begin, end := "<!-- generated: "+part+" -->\n", "<!-- end of "+part+" -->\n"
	before, rest, found := strings.Cut(page, begin)
	inside, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the markers %q and %q", configuration, begin, end)
	}
	return before + begin, inside, end + after
}

func TestTheConfigurationPageIsThatOfTheCode(t *testing.T) {
	page := read(t, configuration)
	for _, part := range []struct{ name, want string }{{"flags", flagTables(t)}, {"sidecar variables", sidecarTables(t)}} {
		before, got, after := generated(t, page, part.name)
		if diff := cmp.Diff(strings.Split(part.want, "\n"), strings.Split(got, "\n")); diff != "" && !*update {
			t.Errorf("%s, part %s (-code +page; go test ./cmd/scheduler -update writes it anew):\n%s", configuration, part.name, diff)
		}
		page = before + part.want + after
	}
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", configuration), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// flagTables describes each command. A flag that an earlier command has too is only named.
func flagTables(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for _, command := range newParser(&commandLine{}).Model.Children {
		fmt.Fprintf(&b, "\n### scheduler %s\n\n%s\n", command.Name, command.Help)
		var again []string
		var rows strings.Builder
		for _, p := range command.Positional {
			rows.WriteString(row("`["+p.Name+"]`", p))
		}
		for _, f := range command.Flags {
			name := "`--" + f.Name + "`"
			if f.Short != 0 {
				name = fmt.Sprintf("`-%c`, %s", f.Short, name)
			}
			switch {
			case f.Name == "help":
			case seen[f.Name+f.Help]:
				again = append(again, "`--"+f.Name+"`")
			case len(f.Envs) == 0:
				t.Errorf("scheduler %s --%s has no environment variable", command.Name, f.Name)
			default:
				rows.WriteString(row(name, f.Value))
			}
			seen[f.Name+f.Help] = true
		}
		if rows.Len() > 0 {
			b.WriteString("\n| flag | variable | default | meaning |\n|---|---|---|---|\n" + rows.String())
		}
		if len(again) > 0 {
			b.WriteString("\nAnd, with the same meaning as above: " + strings.Join(again, ", ") + ".\n")
		}
	}
	return b.String()
}

func row(name string, v *kong.Value) string {
	variable, standard := "", ""
	if v.Tag != nil && len(v.Tag.Envs) > 0 {
		variable = "`" + strings.Join(v.Tag.Envs, "`, `") + "`"
	}
	if v.HasDefault {
		standard = "`" + v.Default + "`"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, variable, standard, v.Help)
}

// variable is a line of the sidecar's package comment: a name, what it means, and its default in brackets.
var variable = regexp.MustCompile(`(?m)^//\t([A-Za-z_][A-Za-z0-9_]+(?:, [A-Za-z_][A-Za-z0-9_]+)*) {1,}(.*?)(?: \[(.*)\])?$`)

// sidecarVariables returns those lines of one list of the comment.
func sidecarVariables(t *testing.T, from, to string) [][]string {
	t.Helper()
	_, text, found := strings.Cut(read(t, sidecarMain), from)
	text, _, ended := strings.Cut(text, to)
	if !found || !ended {
		t.Fatalf("%s has no list between %q and %q", sidecarMain, from, to)
	}
	return variable.FindAllStringSubmatch(text, -1)
}

func sidecarTables(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range sidecarVariables(t, "every mistake is named.", "The program's environment") {
		standard := ""
		if v[3] != "" {
			standard = "`" + v[3] + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v[1], standard, v[2])
	}
	b.WriteString("\nThe program of a task gets the rest of the environment, and\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range sidecarVariables(t, "The program's environment", "In the command {ps_hosts}") {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v[1], ", ", "`, `"), v[2])
	}
	return b.String()
}

func TestTheSidecarsCommentNamesEachVariableItReads(t *testing.T) {
	told, reads := map[string]bool{}, map[string]bool{}
	for _, v := range sidecarVariables(t, "every mistake is named.", "The program's environment") {
		told[v[1]] = true
	}
	for _, name := range regexp.MustCompile(`"(TFMESOS2?_[A-Z_]+)"`).FindAllStringSubmatch(read(t, "sidecar/config.go"), -1) {
		reads[name[1]] = true
	}
	if diff := cmp.Diff(reads, told); diff != "" {
		t.Errorf("variables (-sidecar/config.go +%s):\n%s", sidecarMain, diff)
	}
}

// goFiles calls do with each Go file of the repository.
func goFiles(t *testing.T, do func(path, text string)) {
	t.Helper()
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != top && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.Type().IsRegular() && strings.HasSuffix(path, ".go"):
			text, err := os.ReadFile(path)
			do(path, string(text))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cited returns the numbers that Go files name, each with one of those files.
func cited(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, found := regexp.MustCompile(pattern), map[string]string{}
	goFiles(t, func(path, text string) {
		for _, match := range names.FindAllStringSubmatch(text, -1) {
			found[match[1]] = path
		}
	})
	return found
}

// listed returns the first column of a page's table rows.
func listed(t *testing.T, page, pattern string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^\| `+pattern+` \| \S`).FindAllStringSubmatch(read(t, page), -1) {
		if found[match[1]] {
			t.Errorf("%s has %s twice", page, match[1])
		}
		found[match[1]] = true
	}
	return found
}

func TestKnownFaultsOfThePageAndOfTheTestsAreTheSame(t *testing.T) {
	tests, page := cited(t, `KnownFault(\d{3})`), listed(t, "docs/known-faults.md", `(\d{3})`)
	for _, number := range slices.Sorted(maps.Keys(tests)) {
		if !page[number] {
			t.Errorf("%s cites known fault %s, which docs/known-faults.md does not have", tests[number], number)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(page)) {
		if tests[number] == "" {
			t.Errorf("docs/known-faults.md has %s, and no test does", number)
		}
	}
}

func TestRulesOfMesosThatAreCitedStandOnThePage(t *testing.T) {
	page := listed(t, "docs/mesos-rules.md", `(C\d\d)`)
	for number, path := range cited(t, `\b(C\d\d)\b`) {
		if !page[number] {
			t.Errorf("%s cites rule %s, which docs/mesos-rules.md does not have", path, number)
		}
	}
	for _, match := range regexp.MustCompile("`([a-z/]+\\.go)`").FindAllStringSubmatch(read(t, "docs/mesos-rules.md"), -1) {
		if _, err := os.Stat(filepath.Join("..", "..", match[1])); err != nil {
			t.Errorf("docs/mesos-rules.md: %v", err)
		}
	}
}
