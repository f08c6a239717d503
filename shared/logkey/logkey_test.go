package logkey

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

func TestEachKeyIsOneSnakeCaseWordOfItsOwn(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "logkey.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		key, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if !snake.MatchString(key) {
			t.Errorf("%s is %q: a key is lower case words joined by _", spec.Names[0], key)
		}
		if other, taken := names[key]; taken {
			t.Errorf("%s and %s are both %q: records could not tell them apart", other, spec.Names[0], key)
		}
		names[key] = spec.Names[0].Name
		return true
	})
	if len(names) < 20 {
		t.Errorf("found %d keys: the test does not read logkey.go as it should", len(names))
	}
}
