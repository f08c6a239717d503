package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path that go.mod gives our packages.
const module = "tfmesos"

// source is one Go file.
type source struct {
	path  string // from the repository's root, with slashes
	dir   string // of its package
	lines int
	fset  *token.FileSet
	file  *ast.File
}

// violation is a place that breaks a rule, and what to do about it.
type violation struct {
	path string
	line int
	todo string
}

func (v violation) String() string { return fmt.Sprintf("%s:%d: %s", v.path, v.line, v.todo) }

// at makes the violation of a node of s.
func (s source) at(n ast.Node, format string, args ...any) violation {
	return violation{s.path, s.fset.Position(n.Pos()).Line, fmt.Sprintf(format, args...)}
}

// isTest tells whether the code never ships: test files, packages that only
// tests import (storetest, archtest), and the trees of integration tests and
// benchmarks.
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") || isTestDir(s.dir) }

func isTestDir(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return top == "integration" || top == "bench" || strings.HasSuffix(path.Base(dir), "test")
}

// imported is one import of a source.
type imported struct {
	path string
	spec *ast.ImportSpec
}

func (s source) imports() (all []imported) {
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		all = append(all, imported{name, spec})
	}
	return all
}

// selected returns F when n is pkg.F and pkg is what s calls the package of this
// import path, and "" otherwise.
func (s source) selected(n ast.Node, importPath string) string {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, i := range s.imports() {
		name := path.Base(importPath)
		if i.spec.Name != nil {
			name = i.spec.Name.Name
		}
		if i.path == importPath && pkg.Name == name {
			return selector.Sel.Name
		}
	}
	return ""
}

func parse(name string, text []byte) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	return source{name, path.Dir(name), bytes.Count(text, []byte("\n")), fset, file}, err
}

// root is the repository's folder.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			err = fmt.Errorf("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return dir, err
}

// eachFile calls do with every file that belongs to the repository: all but what
// .gitignore names. Names are relative to the root, with slashes.
func eachFile(do func(name string, text []byte) error) error {
	top, err := root()
	if err != nil {
		return err
	}
	ignored := map[string]bool{".git": true, ".venv": true, ".cache": true, "bin": true}
	return filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(top, name)
		if entry.IsDir() && (ignored[relative] || entry.Name() == "__pycache__") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || ignored[relative] { // .git is a file in a worktree, and SkipDir would then end the walk
			return nil
		}
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) { // a temporary file of someone at work
			return nil
		}
		if err != nil {
			return err
		}
		return do(filepath.ToSlash(relative), text)
	})
}

var load = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := eachFile(func(name string, text []byte) error {
		if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			return nil
		}
		s, err := parse(name, text)
		all = append(all, s)
		return err
	})
	return all, err
})

// rule returns what breaks it in the sources of a repository.
type rule func([]source) []violation

// check fails the test for each violation in this repository.
func check(t *testing.T, r rule) {
	t.Helper()
	sources, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r(sources) {
		t.Error(v)
	}
}

// shipped makes a rule about a single file into one about all files that ship.
func shipped(one func(source) []violation) rule {
	return func(sources []source) (found []violation) {
		for _, s := range sources {
			if !s.isTest() {
				found = append(found, one(s)...)
			}
		}
		return found
	}
}
