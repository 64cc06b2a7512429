package main

import "strings"

// replacements adds replacements, inline or in a file.
func (g *generator) replacements(dir string, k *node) {
	l := list()
	for range 1 + g.IntN(2) {
		l.items = append(l.items, g.replacement())
	}
	if g.chance(0.1) {
		l = list(object("path", g.file(dir, "repl", l.items[0])))
	}
	k.set("replacements", l)
}

func (g *generator) replacement() *node {
	repl := mapping()
	if g.chance(0.3) {
		repl.set("sourceValue", g.constant())
	} else {
		t, o := g.known()
		source := mapping()
		if g.chance(0.9) {
			source.set("kind", t.kind)
		}
		if g.chance(0.8) {
			source.set("name", t.name)
		}
		if g.chance(0.9) {
			source.set("fieldPath", g.fieldPath(o))
		}
		if g.chance(0.15) {
			source.set("options", object("delimiter", of(g.random, `"-"`, `"."`, `":"`, `"/"`, `a`), "index",
				of(g.random, "0", "0", "1", "-1")))
		}
		repl.set("source", source)
	}
	targets := list()
	for range 1 + g.IntN(2) {
		t, o := g.known()
		target := object("select", g.exactly(t))
		if g.chance(0.1) {
			other, _ := g.known()
			target.set("reject", list(g.target(other)))
		}
		paths := list()
		for range 1 + g.IntN(2) {
			paths.items = append(paths.items, text(g.fieldPath(o)))
		}
		target.set("fieldPaths", paths)
		if g.chance(0.6) {
			options := mapping()
			if g.chance(0.8) {
				options.set("create", "true")
			}
			if g.chance(0.2) {
				options.set("delimiter", of(g.random, `"-"`, `"."`, `":"`, `"/"`, `" "`))
				options.set("index", of(g.random, "0", "1", "-1", "9"))
			}
			target.set("options", options)
		}
		targets.items = append(targets.items, target)
	}
	repl.set("targets", targets)
	return repl
}

// constant returns a string that is usually quoted, because the configuration requires strings.
func (g *generator) constant() string {
	s := g.inlineScalar()
	if s == "" || s[0] != '"' && s[0] != '\'' && s[0] != '!' && g.chance(0.95) {
		return `"` + s + `"`
	}
	return s
}

// fieldPath returns a path into o in the syntax of replacements.
func (g *generator) fieldPath(o *node) string {
	var parts []string
	for _, s := range g.path(o) {
		name := strings.NewReplacer(".", `\.`, `"`, "", `'`, "").Replace(s.name)
		switch {
		case s.item != nil && g.chance(0.3):
			name = "*"
		case s.item != nil && len(s.item.fields) > 0 && g.chance(0.7):
			f := s.item.fields[0]
			name = "[" + f.key + "=" + strings.TrimLeft(f.value.scalar, "!") + "]"
		case s.item != nil && s.item.kind == 's' && s.item.scalar != "" && s.item.scalar[0] != '!' && g.chance(0.3):
			name = "[=" + s.item.scalar + "]"
		case strings.Contains(name, ".") && g.chance(0.5):
			name = "[" + s.name + "]"
		}
		parts = append(parts, name)
	}
	path := strings.Join(parts, ".")
	if strings.Contains(path, "\n") {
		return "spec.x"
	}
	if strings.ContainsAny(path, "*\"'&#:{}!|>%@`,=") || strings.HasPrefix(path, "[") {
		return "'" + strings.ReplaceAll(path, "'", "''") + "'"
	}
	return path
}

// plugins adds a built-in generator, transformer or validator, inline, in a file or in a folder.
func (g *generator) plugins(dir string, k *node) {
	field := of(g.random, "transformers", "transformers", "transformers", "transformers", "generators", "generators")
	if g.chance(0.03) {
		field = "validators"
	}
	var config *node
	if field == "generators" {
		config = g.generatorConfig()
	} else {
		config = g.transformerConfig()
	}
	config.set("apiVersion", "builtin")
	config.set("metadata", object("name", "x"))
	switch {
	case g.chance(0.4):
		k.set(field, list(block("|-", g.yaml(config))))
	case g.chance(0.3):
		g.count++
		sub := "plugin"
		g.files[dir+sub+"/kustomization.yaml"] = "resources: [" + g.file(dir+sub+"/", "t", config) + "]\n"
		k.set(field, texts(sub))
	default:
		k.set(field, texts(g.file(dir, "t", config)))
	}
}

func (g *generator) generatorConfig() *node {
	if g.chance(0.5) {
		return object("kind", "ConfigMapGenerator", "name", "gen", "literals", texts("a=b", "k=1"))
	}
	return object("kind", "SecretGenerator", "name", "sec", "literals", texts("a=b"), "behavior", of(g.random, "create", "merge"))
}

func (g *generator) transformerConfig() *node {
	t, o := g.known()
	specs := list(g.fieldSpec())
	if g.chance(0.3) {
		specs.items = append(specs.items, g.fieldSpec())
	}
	switch g.IntN(12) {
	case 0:
		return object("kind", of(g.random, "PrefixTransformer", "PrefixSuffixTransformer"), "prefix", of(g.random, "p-", "1"), "fieldSpecs",
			specs)
	case 1:
		return object("kind", "SuffixTransformer", "suffix", of(g.random, "-s", "0"), "fieldSpecs", specs)
	case 2:
		return object("kind", "LabelTransformer", "labels", g.plainStrings(2), "fieldSpecs", specs)
	case 3:
		return object("kind", "AnnotationsTransformer", "annotations", g.plainStrings(2), "fieldSpecs", specs)
	case 4:
		n := object("kind", "NamespaceTransformer", "metadata", object("name", "x", "namespace", "ns3"), "fieldSpecs", specs)
		if g.chance(0.4) {
			n.set("unsetOnly", "true")
		}
		if g.chance(0.4) {
			n.set("setRoleBindingSubjects", of(g.random, "none", "allServiceAccounts", "defaultOnly"))
		}
		return n
	case 5:
		return object("kind", "ImageTagTransformer", "imageTag", object("name", "nginx", "newTag", "v9"), "fieldSpecs",
			list(object("path", of(g.random, "spec/image", "spec/template/spec/containers[]/image", "spec/a", "data/a"))))
	case 6:
		return object("kind", "ReplicaCountTransformer", "replica", object("name", t.name, "count", "7"), "fieldSpecs", specs)
	case 7:
		return object("kind", "PatchTransformer", "patch", block("|-", g.yaml(g.mergePatch(t, o))))
	case 8:
		return object("kind", "PatchTransformer", "target", g.target(t), "patch", block("|-", g.yaml(g.jsonPatch(o))))
	case 9:
		return object("kind", "ReplacementTransformer", "replacements", list(g.replacement()))
	case 10:
		return object("kind", "ValueAddTransformer", "value", g.constant(), "targets", list(object("selector", g.target(t), "fieldPath",
			strings.ReplaceAll(strings.Trim(g.fieldPath(o), "'"), ".", "/"))))
	}
	return object("kind", "PatchStrategicMergeTransformer", "patches", block("|-", g.yaml(g.mergePatch(t, o))))
}
