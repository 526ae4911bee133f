package keyturn_test

import (
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

func TestVersionIsThatOfTheRepository(t *testing.T) {
	t.Parallel()
	var root struct{ Version string }
	if err := json.Unmarshal(must(os.ReadFile("../../package.json"))(t), &root); err != nil {
		t.Fatal(err)
	}
	if root.Version != keyturn.Version {
		t.Fatalf("the repository has version %s, this client %s", root.Version, keyturn.Version)
	}
	readme := string(must(os.ReadFile("README.md"))(t))
	if !strings.Contains(readme, "clients/go@v"+keyturn.Version) {
		t.Fatalf("the readme does not ask for v%s", keyturn.Version)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestReadme: every piece of code of the readme stands in an example, which is run, or is the first worker, which the
// check script builds and runs in a module of its own.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := string(must(os.ReadFile("README.md"))(t))
	examples := ""
	for _, path := range must(filepath.Glob("example*_test.go"))(t) {
		examples += unindented(string(must(os.ReadFile(path))(t)))
	}
	blocks := goBlock.FindAllStringSubmatch(readme, -1)
	if len(blocks) < 12 {
		t.Fatalf("%d blocks of code", len(blocks))
	}
	for at, block := range blocks {
		if at == 0 && strings.HasPrefix(block[1], "package main\n") {
			continue
		}
		if !strings.Contains(examples, unindented(block[1])) {
			t.Errorf("block %d is in no example:\n%s", at+1, block[1])
		}
	}
}

func unindented(code string) string {
	lines := strings.Split(code, "\n")
	for at, line := range lines {
		lines[at] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// TestEveryExportedNameIsDocumented: types, functions, methods, fields of structs, constants and variables.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	parsed := must(parser.ParseDir(files, ".", func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }, parser.ParseComments))(t)
	pkg := must(doc.NewFromFiles(files, syntaxOf(parsed["keyturn"].Files), "keyturn"))(t)
	said := func(name, comment string) {
		if strings.TrimSpace(comment) == "" {
			t.Errorf("%s is not documented", name)
		}
	}
	values := func(all []*doc.Value) {
		for _, value := range all {
			for _, spec := range value.Decl.Specs {
				spec := spec.(*ast.ValueSpec)
				if spec.Names[0].IsExported() {
					said(spec.Names[0].Name, spec.Doc.Text()+value.Doc)
				}
			}
		}
	}
	functions := func(all []*doc.Func) {
		for _, function := range all {
			said(function.Name, function.Doc)
		}
	}
	said("the package", pkg.Doc)
	values(pkg.Consts)
	values(pkg.Vars)
	functions(pkg.Funcs)
	for _, one := range pkg.Types {
		said(one.Name, one.Doc)
		values(one.Consts)
		values(one.Vars)
		functions(one.Funcs)
		functions(one.Methods)
		for _, spec := range one.Decl.Specs {
			if structure, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					if len(field.Names) > 0 && field.Names[0].IsExported() {
						said(one.Name+"."+field.Names[0].Name, field.Doc.Text())
					}
				}
			}
		}
	}
}

func syntaxOf(byPath map[string]*ast.File) []*ast.File {
	var all []*ast.File
	for _, file := range byPath {
		all = append(all, file)
	}
	return all
}

// TestFilesAreSmall: one concept each.
func TestFilesAreSmall(t *testing.T) {
	t.Parallel()
	for _, path := range must(filepath.Glob("*.go"))(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if lines := strings.Count(string(must(os.ReadFile(path))(t)), "\n"); lines > 300 {
			t.Errorf("%s has %d lines; allowed are 300", path, lines)
		}
	}
}
