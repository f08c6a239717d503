package archtest

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	maxFileLines     = 400
	maxFuncLines     = 60
	maxSwitchLines   = 100            // of a function whose doc comment has the words below
	stateSwitchWords = "state switch" // one switch over all states is easier to read in one piece
)

func fileLength(s source) (found []violation) {
	if s.lines > maxFileLines && !ast.IsGenerated(s.file) {
		found = append(found, s.at(s.file.Name, "%d lines, more than %d: split the file by what its parts are about", s.lines, maxFileLines))
	}
	return found
}

func functionLength(s source) (found []violation) {
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || ast.IsGenerated(s.file) {
			continue
		}
		limit := maxFuncLines
		if strings.Contains(f.Doc.Text(), stateSwitchWords) {
			limit = maxSwitchLines
		}
		if lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1; lines > limit {
			found = append(found, s.at(f.Name, "%s has %d lines, more than %d: split it, most often into what decides and what does", f.Name.Name, lines, limit))
		}
	}
	return found
}

// redisKey finds the beginning of a key; "tfmesos: words" is a message.
var redisKey = regexp.MustCompile(`tfmesos:(\S|$)`)

func redisKeys(s source) (found []violation) {
	if s.path == "scheduler/store/keys.go" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && redisKey.MatchString(text(lit)) {
			found = append(found, s.at(n, "a Redis key is spelled here: use its function in scheduler/store/keys.go"))
		}
		return true
	})
	return found
}

// text is the value of a string literal, or "".
func text(n ast.Node) string {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	value, _ := strconv.Unquote(lit.Value)
	return value
}

func sleeps(s source) (found []violation) {
	commented := map[int]bool{}
	for _, group := range s.file.Comments {
		for line := s.fset.Position(group.Pos()).Line; line <= s.fset.Position(group.End()).Line; line++ {
			commented[line] = true
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if s.selected(n, "time") != "Sleep" {
			return true
		}
		if line := s.fset.Position(n.Pos()).Line; !commented[line] && !commented[line-1] {
			found = append(found, s.at(n, "time.Sleep without a reason: wait for the event itself, or say beside it why that cannot be"))
		}
		return true
	})
	return found
}

func errorStrings(s source) (found []violation) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || s.selected(call.Fun, "errors") != "New" && s.selected(call.Fun, "fmt") != "Errorf" {
			return true
		}
		for _, arg := range call.Args {
			if strings.Contains(strings.ToLower(text(arg)), "failed to") {
				found = append(found, s.at(arg, "an error says \"failed to\": begin with the bare verb, as in \"save task %%s: %%w\""))
			}
		}
		return true
	})
	return found
}

func contextFields(s source) (found []violation) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		fields, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range fields.Fields.List {
			if s.selected(field.Type, "context") == "Context" {
				found = append(found, s.at(field, "a context in a struct outlives its call: make it the first argument"))
			}
		}
		return true
	})
	return found
}

func defaultLogger(s source) (found []violation) {
	global := regexp.MustCompile(`^((Debug|Info|Warn|Error)(Context)?|Log|LogAttrs|Default|SetDefault|With|(Print|Fatal|Panic)(f|ln)?)$`)
	ast.Inspect(s.file, func(n ast.Node) bool {
		for _, pkg := range []string{"log/slog", "log"} {
			if name := s.selected(n, pkg); global.MatchString(name) {
				found = append(found, s.at(n, "%s.%s uses the default logger: take a *slog.Logger as an argument", pkg, name))
			}
		}
		return true
	})
	return found
}

// machinePaths finds the name of a folder that only this machine has.
func machinePaths(name string, content []byte, folder string) (found []violation) {
	if i := bytes.Index(content, []byte(folder+"/")); i >= 0 {
		line := 1 + bytes.Count(content[:i], []byte("\n"))
		found = append(found, violation{name, line, "names " + folder + ", which others do not have: find it through PATH or a variable"})
	}
	return found
}

func TestFilesAreShort(t *testing.T) { check(t, shipped(fileLength)) }

func TestFunctionsAreShort(t *testing.T) { check(t, shipped(functionLength)) }

func TestRedisKeysAreSpelledInOneFile(t *testing.T) { check(t, shipped(redisKeys)) }

func TestSleepsHaveAReason(t *testing.T) { check(t, shipped(sleeps)) }

func TestErrorsBeginWithTheBareVerb(t *testing.T) { check(t, shipped(errorStrings)) }

func TestNoStructKeepsAContext(t *testing.T) { check(t, shipped(contextFields)) }

func TestLoggersArePassedIn(t *testing.T) { check(t, shipped(defaultLogger)) }

func TestNoFileNamesTheFolderItIsIn(t *testing.T) {
	here, err := root()
	if err != nil {
		t.Fatal(err)
	}
	err = eachFile(func(name string, content []byte) error {
		for _, v := range machinePaths(name, content, here) {
			t.Error(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
