package drawing

// A class determines the appearance of a box or line. Everything shown by color is also shown by
// text, borders or dashes.
type class int

const (
	plain class = iota
	kustomization
	component
	composition
	failedRoot
	loads
	generates
	transforms
	validates
	calls
	denied
	others
)

// A look is the appearance of a class. The colors are from the Okabe-Ito palette and tints of
// it, which people with any type of color vision can distinguish, in a light and a dark variant.
type look struct {
	name             string // in the legend and style sheets
	fill, stroke     string
	darkFill, border string // border is the dash pattern of a box
}

var looks = [...]look{
	plain:         {"plain", "#ffffff", "#666666", "#1b1f24", ""},
	kustomization: {"Kustomization", "#eaf2fa", "#0072b2", "#12283a", ""},
	component:     {"Component", "#fdf1dc", "#b87700", "#35280f", "6 3"},
	composition:   {"Composition", "#e2f4ed", "#00805c", "#0d3026", ""},
	failedRoot:    {"failed", "#fbe5da", "#d55e00", "#411f08", "10 3 2 3"},
	loads:         {"load", "#56b4e9", "#56b4e9", "#56b4e9", ""},
	generates:     {"generate", "#009e73", "#009e73", "#009e73", ""},
	transforms:    {"transform", "#e69f00", "#e69f00", "#e69f00", ""},
	validates:     {"validate", "#f0e442", "#f0e442", "#f0e442", ""},
	calls:         {"call", "#cc79a7", "#cc79a7", "#cc79a7", ""},
	denied:        {"denied", "#d55e00", "#d55e00", "#d55e00", ""},
	others:        {"merge, finish …", "#999999", "#999999", "#999999", ""},
}

// verbClass returns the class for the verb of a node.
func verbClass(verb string) class {
	for c := loads; c < denied; c++ {
		if looks[c].name == verb {
			return c
		}
	}
	return others
}

// Kinds of use between boxes. All other kinds are the names of fields.
const (
	asResource  = "resource"
	asComponent = "component"
	asImport    = "import"
	asInput     = "" // between steps
	asOrder     = "after"
	// asDependency leads to a root that a controller applies after another one.
	asDependency = "dependsOn"
)

// A stroke is the line style of an edge.
type stroke struct{ name, dot, dash, mermaid string }

var (
	solid  = stroke{"resource", "solid", "", "-->"}
	dashed = stroke{"component", "dashed", "7 4", "-.->"}
	thick  = stroke{"import", "bold", "", "==>"}
	dotted = stroke{"other uses", "dotted", "2 3", "-.->"}
)

// stroke returns the line style of an edge, which depends on its first kind of use.
func (e edge) stroke() stroke {
	switch {
	case e.ways[0] == asResource || e.ways[0] == asInput:
		return solid
	case e.ways[0] == asComponent:
		return dashed
	case e.ways[0] == asImport:
		return thick
	}
	return dotted
}
