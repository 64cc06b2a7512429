package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Names of requirements that are not environment variables.
const (
	RequireTree    = "tree"
	RequireNetwork = "network"
)

// Requires lists the variables, files and network that a function needs besides its input. A
// catalog entry only declares them. The user grants each by name.
type Requires struct {
	// Needs lists the requirements in the order of the catalog.
	Needs []Need
	// Files lists the variables in Needs whose value is the path of a file or directory that the
	// function reads.
	Files []string
}

// A Need is one requirement.
type Need struct {
	// Names are alternatives, of which at least one is needed. Each is the name of an environment
	// variable, [RequireTree] for the files below the directory of the configuration, or
	// [RequireNetwork].
	Names []string
	// Optional is true if the function also runs without it.
	Optional bool
}

// Has reports whether name is among the requirements.
func (r *Requires) Has(name string) bool {
	return slices.ContainsFunc(r.Needs, func(n Need) bool { return slices.Contains(n.Names, name) })
}

// String returns the form in messages: "A or B, tree, network (optional)".
func (r *Requires) String() string {
	var list []string
	for _, n := range r.Needs {
		text := n.String()
		if n.Optional {
			text += " (optional)"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// String returns the alternatives: "A, B or C". It omits some of a long list.
func (n Need) String() string {
	const most = 4
	last := len(n.Names) - 1
	switch {
	case last < 1:
		return strings.Join(n.Names, "")
	case last > most:
		return fmt.Sprintf("%s or one of %d others", strings.Join(n.Names[:most], ", "), len(n.Names)-most)
	}
	return strings.Join(n.Names[:last], ", ") + " or " + n.Names[last]
}

func (r *Requires) equal(o *Requires) bool {
	return slices.Equal(r.Files, o.Files) && slices.EqualFunc(r.Needs, o.Needs, func(a, b Need) bool {
		return a.Optional == b.Optional && slices.Equal(a.Names, b.Names)
	})
}

// requires reads the field requires of a function or a version.
func (r *reader) requires(c yaml.Cursor, e *Entry) {
	if !c.Exists() || !c.Known("env", "files", "network") {
		return
	}
	e.Requires = Requires{}
	add := func(at yaml.Cursor, n Need) {
		for _, name := range n.Names {
			if e.Requires.Has(name) {
				at.Errorf("requires %s twice", name)
			}
		}
		if len(n.Names) > 0 {
			e.Requires.Needs = append(e.Requires.Needs, n)
		}
	}
	for _, item := range c.Field("env").Items() {
		add(item, r.variables(item))
	}
	files := c.Field("files")
	switch {
	case files.Value().Type() != yaml.String:
		for _, item := range files.Items() {
			r.files(item, e, add)
		}
	case files.Text() != RequireTree:
		files.Errorf("%q is not %s or a list", files.Text(), RequireTree)
	default:
		add(files, Need{Names: []string{RequireTree}})
	}
	switch network := c.Field("network"); {
	case network.Value().Type() == yaml.String && network.Text() == "optional":
		add(network, Need{Names: []string{RequireNetwork}, Optional: true})
	case isTrue(network.Bool()):
		add(network, Need{Names: []string{RequireNetwork}})
	}
}

// variables reads an item of env: a name, a list of alternatives, or a mapping.
func (r *reader) variables(c yaml.Cursor) (n Need) {
	switch c.Value().Type() {
	case yaml.Seq:
		for _, item := range c.Items() {
			if name := r.variable(item); name != "" {
				n.Names = append(n.Names, name)
			}
		}
	case yaml.Map:
		if c.Known("name", "optional") {
			if name := r.variable(c.Field("name")); name != "" {
				n.Names = []string{name}
			}
			n.Optional = isTrue(c.Field("optional").Bool())
		}
	default:
		if name := r.variable(c); name != "" {
			n.Names = []string{name}
		}
	}
	return n
}

// reservedVariables are set by krmflow for every function.
var reservedVariables = []string{"PATH", "HOME", "TMPDIR", "LANG", "TZ", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
	function.FieldsVariable}

// variable reads the name of an environment variable.
func (r *reader) variable(c yaml.Cursor) string {
	name := c.Required()
	switch {
	case name == "":
	case !function.IsVariable(name) || name == RequireTree || name == RequireNetwork:
		c.Errorf("%q is not the name of an environment variable", name)
		return ""
	case slices.Contains(reservedVariables, name):
		c.Errorf("%s cannot be required: krmflow sets it, or it changes how programs start", name)
		return ""
	}
	return name
}

// files reads an item of files.
func (r *reader) files(c yaml.Cursor, e *Entry, add func(yaml.Cursor, Need)) {
	if !c.Known("from", "name", "optional") {
		return
	}
	optional := isTrue(c.Field("optional").Bool())
	switch from := c.Field("from").Required(); from {
	case "":
	case RequireTree:
		if name := c.Field("name"); name.Exists() {
			name.Errorf("is for from: env")
		}
		add(c, Need{Names: []string{RequireTree}, Optional: optional})
	case "env":
		name := r.variable(c.Field("name"))
		if name == "" {
			return
		}
		if !e.Requires.Has(name) {
			add(c, Need{Names: []string{name}, Optional: optional})
		}
		e.Requires.Files = append(e.Requires.Files, name)
	default:
		c.Field("from").Errorf("%q is not env or %s", from, RequireTree)
	}
}

func (r *Requires) value() yaml.Value {
	var o object
	var env, files []yaml.Value
	for _, n := range r.Needs {
		switch {
		case n.Names[0] == RequireTree:
			var tree object
			tree.text("from", RequireTree)
			tree.flag("optional", n.Optional)
			files = append(files, tree.value())
		case n.Names[0] == RequireNetwork && n.Optional:
			o.text("network", "optional")
		case n.Names[0] == RequireNetwork:
			o.flag("network", true)
		case n.Optional:
			env = append(env, yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(n.Names[0])},
				yaml.Field{Key: "optional", Value: yaml.BoolValue(true)}))
		case len(n.Names) == 1:
			env = append(env, yaml.Str(n.Names[0]))
		default:
			var names []yaml.Value
			for _, name := range n.Names {
				names = append(names, yaml.Str(name))
			}
			env = append(env, yaml.SeqOf(names...))
		}
	}
	for _, name := range r.Files {
		files = append(files, yaml.MapOf(yaml.Field{Key: "from", Value: yaml.Str("env")}, yaml.Field{Key: "name", Value: yaml.Str(name)}))
	}
	if len(env) > 0 {
		o.add("env", yaml.SeqOf(env...))
	}
	if len(files) > 0 {
		o.add("files", yaml.SeqOf(files...))
	}
	return o.value()
}
