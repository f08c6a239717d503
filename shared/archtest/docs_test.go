package archtest

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// packageComments wants one package comment a package, where people look for it.
func packageComments(sources []source) (found []violation) {
	packages := map[string][]source{}
	for _, s := range sources {
		if !strings.HasSuffix(s.path, "_test.go") && !ast.IsGenerated(s.file) {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		files := packages[dir]
		var with []source
		for _, s := range files {
			if s.file.Doc != nil {
				with = append(with, s)
			}
		}
		switch {
		case len(with) == 0:
			found = append(found, files[0].at(files[0].file.Name, "package %s has no package comment: say in doc.go what it gives", dir))
		case len(with) > 1:
			found = append(found, with[1].at(with[1].file.Name, "package %s has a second package comment, beside that of %s: keep one", dir, with[0].path))
		default:
			found = append(found, packageComment(with[0], len(files))...)
		}
	}
	return found
}

// packageComment checks the one package comment, in s, of a package of n files.
func packageComment(s source, n int) (found []violation) {
	name, base := s.file.Name.Name, path.Base(s.path)
	if n > 1 && base != "doc.go" && !(name == "main" && base == "main.go") {
		found = append(found, s.at(s.file.Name, "the package comment of %s stands in %s: move it to doc.go", s.dir, base))
	}
	if first := "Package " + name + " "; name != "main" && !strings.HasPrefix(s.file.Doc.Text(), first) {
		found = append(found, s.at(s.file.Doc, "the package comment does not begin with %q: go doc wants that", first))
	}
	return found
}

func exportedDocs(s source) (found []violation) {
	if s.file.Name.Name == "main" || ast.IsGenerated(s.file) {
		return nil
	}
	undocumented := func(id *ast.Ident) {
		if id.IsExported() {
			found = append(found, s.at(id, "%s has no doc comment: say what it means, its units and its errors", id.Name))
		}
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && !isPlainMethod(d) {
				undocumented(d.Name)
			}
		case *ast.GenDecl:
			if d.Doc == nil {
				undocumentedSpecs(d, undocumented)
			}
		}
	}
	return found
}

// undocumentedSpecs reports each name of a declaration that has no comment of
// its own, above or behind it.
func undocumentedSpecs(d *ast.GenDecl, report func(*ast.Ident)) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Doc == nil && spec.Comment == nil {
				report(spec.Name)
			}
		case *ast.ValueSpec:
			if spec.Doc == nil && spec.Comment == nil {
				for _, name := range spec.Names {
					report(name)
				}
			}
		}
	}
}

// isPlainMethod tells whether d is a method that needs no words: its name says
// all, or its receiver's type is not exported.
func isPlainMethod(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	if slices.Contains([]string{"String", "Error", "Unwrap"}, d.Name.Name) {
		return true
	}
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return !r.IsExported()
		default:
			return false
		}
	}
}

func TestEachPackageHasOnePackageComment(t *testing.T) { check(t, packageComments) }

func TestExportedNamesAreDocumented(t *testing.T) { check(t, shipped(exportedDocs)) }
