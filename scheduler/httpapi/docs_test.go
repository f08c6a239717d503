package httpapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/callback"
)

// table returns the cells of the rows of the Markdown table below the heading.
func table(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/callback-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/callback-api.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range strings.Split(section, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows[1:] // without its head
}

func TestTheRoutesAreThoseOfTheDocs(t *testing.T) {
	var documented, served []string
	for _, row := range table(t, "Routes") {
		documented = append(documented, row[0]+" body "+strconv.FormatBool(row[2] != ""))
	}
	for _, r := range routes {
		served = append(served, r.method+" "+r.path+" body "+strconv.FormatBool(r.body))
	}
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("routes (-docs/callback-api.md +routes.go):\n%s", diff)
	}
}

func TestEachPathOfTheContractIsServed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../shared/callback/paths.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	paths := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Path") {
			return true
		}
		paths++
		path, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || !slices.ContainsFunc(routes, func(r route) bool { return r.path == path }) {
			t.Errorf("%s %q is in the contract and in no route", spec.Names[0].Name, path)
		}
		return true
	})
	if paths != len(routes) {
		t.Errorf("the contract has %d paths, the server %d routes", paths, len(routes))
	}
}

func TestTheLimitsAreThoseOfTheDocs(t *testing.T) {
	kib := func(n int) string { return fmt.Sprintf("%d KiB", n>>10) }
	d := DefaultLimits
	want := [][]string{
		{"request line and header", kib(callback.MaxHeader)},
		{"body", kib(callback.MaxBody)},
		{"body, credentials not known", kib(maxStrangerBody)},
		{"time from a request's first byte to its last", d.Read.String()},
		{"time from a new connection to its first byte", d.Read.String()},
		{"time to take an answer", d.Write.String()},
		{"time between two requests of a connection", d.Idle.String()},
		{"connections at once", strconv.Itoa(d.Connections)},
		{"time to store an event before 503", d.Submit.String()},
		{"time for requests under way when the scheduler ends", d.Close.String()},
		{"longest wait of a long poll", (callback.MaxWaitSeconds * time.Second).String()},
	}
	if diff := cmp.Diff(table(t, "Limits"), want); diff != "" {
		t.Errorf("limits (-docs/callback-api.md +code):\n%s", diff)
	}
}

func TestTheStatusCodesAreThoseOfTheDocs(t *testing.T) {
	var documented []string
	for _, row := range table(t, "Status codes") {
		documented = append(documented, row[0])
	}
	var used []string
	for _, name := range []string{"answer.go", "routes.go", "target.go", "v0.go", "v1.go", "auth.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`refuse\(fasthttp\.Status(\w+)`).FindAllStringSubmatch(string(text), -1) {
			used = append(used, m[1])
		}
	}
	names := map[string]string{"BadRequest": "400", "Unauthorized": "401", "Forbidden": "403", "NotFound": "404", "MethodNotAllowed": "405",
		"RequestTimeout": "408", "Conflict": "409", "Gone": "410", "RequestEntityTooLarge": "413", "RequestHeaderFieldsTooLarge": "431",
		"InternalServerError": "500", "ServiceUnavailable": "503"}
	for i := range used {
		used[i] = names[used[i]]
	}
	slices.Sort(used)
	if diff := cmp.Diff(documented, slices.Compact(used)); diff != "" {
		t.Errorf("status codes (-docs/callback-api.md +code):\n%s", diff)
	}
}
