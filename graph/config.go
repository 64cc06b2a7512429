package graph

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// ConfigDigest returns a digest of the configuration of n: the fields that configure it and the
// files that they name. files are the files of the plan by name. shared are further fields of the
// file that holds the configuration.
//
// The digest is for comparing two plans. It is made from the user's text, not from the operation,
// because operations hold parsed files, tables and caches. It therefore misses a change of a
// schema, or of a base of a folder of configurations.
func (n *Node) ConfigDigest(files map[string]*yaml.Source, shared ...string) krm.Digest {
	text := []byte(n.Op.Verb() + " " + n.Summary)
	dir := n.Origin.Folder()
	// add adds the digests of the files that the strings in v name, alone or as KEY=FILE.
	var add func(v yaml.Value)
	add = func(v yaml.Value) {
		for _, f := range v.Fields() {
			add(f.Value)
		}
		for _, item := range v.Items() {
			add(item)
		}
		name := v.Text()
		if _, file, ok := strings.Cut(name, "="); ok {
			name = file
		}
		if src := files[path.Join(dir, name)]; src != nil {
			text = fmt.Append(text, src.Digest())
		}
	}
	if call, ok := n.Op.(Call); ok {
		text = yaml.AppendJSON(fmt.Append(text, call.Function.Digest), call.Config)
		if call.Chart != nil {
			text = fmt.Append(text, call.Chart.Digest)
		}
	}
	if p, ok := Maker(n.Op).(interface{ Values() string }); ok { // a gitops.Placer
		text = append(text, p.Values()...)
	}
	origins := append([]Origin{n.Origin}, n.Changes...)
	for _, field := range shared {
		origins = append(origins, Origin{Source: n.Origin.Source, Path: []any{field}})
	}
	for _, o := range origins {
		v := o.Value()
		if last := len(o.Path) - 1; !v.Exists() && last > 0 { // a further document of the entry's file
			v = Origin{Source: o.Source, Path: o.Path[:last]}.Value()
		}
		text = yaml.AppendJSON(text, v)
		add(v)
		if v.Type() != yaml.String || len(o.Path) == 0 || o.Path[0] != "generators" && o.Path[0] != "transformers" {
			continue
		}
		entry := path.Join(dir, v.Text()) // a file, or a folder of files
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if name == entry || strings.HasPrefix(name, entry+"/") {
				text = fmt.Append(text, files[name].Digest())
				docs, _ := files[name].Configs()
				for _, doc := range docs {
					add(doc.Value)
				}
			}
		}
	}
	return krm.DigestOf(text)
}
