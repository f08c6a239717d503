package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// pureImports is what a pure package may import directly, besides other pure
// packages. (What these import in turn does not matter: fmt imports os.)
var pureImports = []string{
	"bytes", "cmp", "crypto/hmac", "crypto/sha256", "encoding/base64", "encoding/hex", "encoding/json", "errors", "fmt",
	"hash/fnv", "iter", "maps", "math", "net/netip", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode",
	"unicode/utf8",
}

// clock are the functions of package time that read or wait for the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// onlyPure makes a rule about a file into one about the files of pure packages.
func onlyPure(one func(source) []violation) rule {
	return shipped(func(s source) []violation {
		if !slices.Contains(pure, s.dir) {
			return nil
		}
		return one(s)
	})
}

func purityOfImports(s source) (found []violation) {
	for _, i := range s.imports() {
		ours, ok := strings.CutPrefix(i.path, module+"/")
		if ok && slices.Contains(pure, ours) || slices.Contains(pureImports, i.path) {
			continue
		}
		found = append(found, s.at(i.spec, "%s is pure and imports %s: take what it gives as an argument, or do it in the loop", s.dir, i.path))
	}
	return found
}

func purityOfCode(s source) (found []violation) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, s.at(n, "%s is pure and starts a goroutine: return the work as data", s.dir))
		case *ast.SelectorExpr:
			if name := s.selected(n, "time"); slices.Contains(clock, name) {
				found = append(found, s.at(n, "%s is pure and uses time.%s: take the time as an argument", s.dir, name))
			}
			if name := s.selected(n, "fmt"); strings.HasPrefix(name, "Print") {
				found = append(found, s.at(n, "%s is pure and prints with fmt.%s: return the text", s.dir, name))
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				found = append(found, s.at(n, "%s is pure and prints with %s: return the text", s.dir, f.Name))
			}
		}
		return true
	})
	return found
}

func TestPurePackagesImportOnlyWhatHasNoEffect(t *testing.T) { check(t, onlyPure(purityOfImports)) }

func TestPurePackagesHaveNoClockGoroutineOrOutput(t *testing.T) { check(t, onlyPure(purityOfCode)) }
