package drawing

// A class is what a box or a line is, for its look. All that colour says is said by words, borders or dashes, too.
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

// A look is how a class is drawn: by colours that people with any kind of colour vision can tell apart (those of Okabe and Ito, and
// tints of them), for light and dark.
type look struct {
	name             string // in the legend and in style sheets
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

// verbClass returns the class of the verb of a node.
func verbClass(verb string) class {
	for c := loads; c < denied; c++ {
		if looks[c].name == verb {
			return c
		}
	}
	return others
}

// The ways in which one box uses another. One that is not here is the name of a field.
const (
	asResource  = "resource"
	asComponent = "component"
	asImport    = "import"
	asInput     = "" // of steps
	asOrder     = "after"
)

// A stroke is how an edge is drawn.
type stroke struct{ name, dot, dash, mermaid string }

var (
	solid  = stroke{"resource", "solid", "", "-->"}
	dashed = stroke{"component", "dashed", "7 4", "-.->"}
	thick  = stroke{"import", "bold", "", "==>"}
	dotted = stroke{"other uses", "dotted", "2 3", "-.->"}
)

// stroke returns how an edge is drawn: by its first way.
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
