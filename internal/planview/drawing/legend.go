package drawing

// key is an entry of the legend.
type key struct {
	class  class
	stroke stroke // of an edge, if its name is set
	text   string
}

// keys returns the legend entries for everything that occurs in the drawing.
func (d *Drawing) keys() (list []key) {
	kinds, verbs := map[class]bool{}, map[class]bool{}
	root, many := false, false
	for _, b := range d.boxes {
		kinds[b.kind] = true
		root, many = root || b.root, many || b.many
		for _, l := range b.lines {
			verbs[l.verb] = true
		}
	}
	for _, k := range []class{kustomization, component, composition, failedRoot} {
		if kinds[k] {
			list = append(list, key{class: k, text: looks[k].name})
		}
	}
	for v := loads; v <= others; v++ {
		if verbs[v] {
			list = append(list, key{class: v, text: looks[v].name})
		}
	}
	drawn := map[stroke]string{}
	for _, e := range d.edges {
		s := e.stroke()
		drawn[s] = s.name
		if e.ways[0] == asInput {
			drawn[s] = "resources"
		}
	}
	for _, s := range []stroke{solid, dashed, thick, dotted} {
		if text := drawn[s]; text != "" {
			list = append(list, key{stroke: s, text: text})
		}
	}
	if root {
		list = append(list, key{text: "thick border: a root"})
	}
	if many {
		list = append(list, key{text: "double border: several layers"})
	}
	return append(list, key{text: "A → B: B uses A"})
}
