package builtins

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// An interfaceQuestion is an interface of about.go, with a function that reports whether a built-in
// implements it.
type interfaceQuestion struct {
	name string
	bit  question
	ask  func(Builtin) bool
}

var questions = []interfaceQuestion{
	{"FieldLister", asFieldLister, implements[FieldLister]},
	{"Chooser", asChooser, implements[Chooser]},
	{"Setter", asSetter, implements[Setter]},
	{"Locator", asLocator, implements[Locator]},
	{"Patcher", asPatcher, implements[Patcher]},
	{"Causer", asCauser, implements[Causer]},
	{"FileReader", asFileReader, implements[FileReader]},
	{"FieldForm", asFieldForm, implements[FieldForm]},
}

func implements[T any](b Builtin) bool { _, ok := b.(T); return ok }

// TestKindsAnswer checks that each kind implements each interface of about.go, or that its line in
// the registry lists the interface as not applicable.
func TestKindsAnswer(t *testing.T) {
	for _, k := range kinds {
		for _, q := range questions {
			switch does, not := q.ask(k.make()), k.without&q.bit != 0; {
			case does && not:
				t.Errorf("%s implements %s: remove it from its line in registry.go", k.name, q.name)
			case !does && !not:
				t.Errorf("%s does not implement %s: add the method, or name the question in its line in registry.go", k.name, q.name)
			}
		}
	}
}

// TestNoQuestionOrKindIsForgotten checks that each interface of about.go is a question, and that
// each kind of this package is in the registry.
func TestNoQuestionOrKindIsForgotten(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				_, is := n.Type.(*ast.InterfaceType)
				asked := slices.ContainsFunc(questions, func(q interfaceQuestion) bool { return q.name == n.Name.Name })
				if is && name == "about.go" && !asked {
					t.Errorf("%s is missing from questions", n.Name.Name)
				}
			case *ast.FuncDecl:
				if n.Name.Name != "Configure" || n.Recv == nil || strings.HasSuffix(name, "_test.go") {
					break
				}
				kind := n.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
				if New(kind) == nil && kind != "SortOrderTransformer" { // it exists only as a field: see New
					t.Errorf("%s is not in the registry", kind)
				}
			}
			return true
		})
	}
}

// TestFileFieldsExist checks that the file fields of a kind exist in its configuration and are
// strings or lists of strings.
func TestFileFieldsExist(t *testing.T) {
	for _, k := range kinds {
		reader, ok := k.make().(FileReader)
		if !ok {
			continue
		}
		for _, f := range reader.FileFields() {
			at := reflect.TypeOf(k.make())
			for name := range strings.SplitSeq(f.Path, ".") {
				if at = jsonField(element(at), name); at == nil {
					break
				}
			}
			if at == nil || element(at).Kind() != reflect.String {
				t.Errorf("%s has no field %s with a string or a list of strings", k.name, f.Path)
			}
		}
	}
}

// element removes pointers and slices from a type.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// jsonField returns the type of the struct field with a JSON name, nil if there is none.
func jsonField(t reflect.Type, name string) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type
		}
		if f.Anonymous && tag == "" || options == "inline" {
			if found := jsonField(element(f.Type), name); found != nil {
				return found
			}
		}
	}
	return nil
}

// TestKustomizationFieldsAreUnique checks that each field of a Kustomization belongs to one kind.
func TestKustomizationFieldsAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, k := range kinds {
		form, ok := k.make().(FieldForm)
		if !ok {
			continue
		}
		for _, f := range form.StandsFor() {
			if other := seen[f.Name]; other != "" {
				t.Errorf("%s and %s stand for %s", other, k.name, f.Name)
			}
			seen[f.Name] = k.name
			if _, kind, got := ForField(f.Name); kind != k.name || got.Key != f.Key {
				t.Errorf("ForField(%q) returns %s %v", f.Name, kind, got)
			}
		}
	}
	if b, _, _ := ForField("resources"); b != nil {
		t.Errorf("%T stands for resources", b)
	}
}
