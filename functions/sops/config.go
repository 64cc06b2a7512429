package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// request is what a configuration asks for, whatever its kind is.
type request struct {
	function  string // for --grant, for example krmflow.dev/SopsSecretGenerator
	manifests []source
	secrets   []secret
	remarks   []string // on fields without effect
}

// source is an encrypted file.
type source struct {
	field string // for example secretFrom[0].files[1]
	key   string // in the Secret, empty for manifests and envs
	path  string
}

// secret is a Secret that is made of encrypted files.
type secret struct {
	field       string
	name        string
	namespace   string
	labels      map[string]string
	annotations map[string]string
	typ         string
	immutable   *yaml.Node
	files       []source
	binaryFiles []source // of ksops: the values that belong to data
	envs        []source
	asKSOPS     bool // stringData, the dotenv syntax of KSOPS, the last of equal keys
	lastWins    bool
}

// parseConfig reads a functionConfig. It reports all mistakes in it.
func parseConfig(n *yaml.Node) (*request, error) {
	api, kind := str(get(n, "apiVersion")), str(get(n, "kind"))
	r := &reader{where: or(strings.TrimSpace(kind+" "+str(get(get(n, "metadata"), "name"))), "functionConfig")}
	group, _, _ := strings.Cut(api, "/")
	c := &request{function: group + "/" + kind}
	switch {
	case kind == "SopsSecretGenerator" && api == "krmflow.dev/v1alpha1":
		r.generator(n, c)
	case kind == "SopsSecretGenerator" && api == "goabout.com/v1beta1":
		r.lenient = true
		r.generator(n, c)
	case kind == "ksops" && api == "viaduct.ai/v1":
		r.lenient = true
		r.ksops(n, c)
	default:
		return nil, problemf(r.where, "the kind %s %s is not known", or(api, "without apiVersion"), or(kind, "without kind")).
			hint("use krmflow.dev/v1alpha1 SopsSecretGenerator, goabout.com/v1beta1 SopsSecretGenerator or viaduct.ai/v1 ksops")
	}
	c.remarks = r.remarks
	return c, r.problems.err()
}

// reader reads the fields of a configuration and collects its mistakes.
type reader struct {
	where   string
	lenient bool // fields that are not known are remarks: the original programs ignore them
	remarks []string
	problems
}

func (r *reader) badf(format string, args ...any) { r.addf(r.where, format, args...) }

// generator reads a SopsSecretGenerator. Its fields are those of kustomize's SecretGenerator. The
// kind of goabout.com has labels and annotations of the Secret in its metadata.
func (r *reader) generator(n *yaml.Node, c *request) {
	s := secret{lastWins: r.lenient}
	needsHash := true
	r.fields(n, "", func(key string, v *yaml.Node) bool {
		switch key {
		case "apiVersion", "kind":
		case "metadata":
			r.fields(v, key, func(key string, v *yaml.Node) bool {
				switch key {
				case "name":
					s.name = r.text(v, "metadata.name")
				case "namespace":
					s.namespace = r.text(v, "metadata.namespace")
				case "labels":
					if r.lenient {
						s.labels = r.texts(v, "metadata.labels")
					}
				case "annotations":
					if r.lenient {
						s.annotations = r.texts(v, "metadata.annotations")
					}
				}
				return true
			})
		case "type":
			s.typ = r.text(v, key)
		case "files":
			s.files = r.keyed(v, key)
		case "envs":
			s.envs = r.paths(v, key)
		case "manifests":
			c.manifests = append(c.manifests, r.paths(v, key)...)
		case "objects":
			if !r.lenient {
				return false
			}
			c.manifests = append(c.manifests, r.paths(v, key)...)
		case "behavior":
			switch b := r.text(v, key); b {
			case "", "create", "merge", "replace":
				s.setAnnotation("kustomize.config.k8s.io/behavior", b)
			default:
				r.badf("behavior: %q is not create, merge or replace", b)
			}
		case "disableNameSuffixHash":
			if !r.lenient {
				r.badf("disableNameSuffixHash belongs to options")
				return true
			}
			needsHash = !r.truth(v, key)
		case "options":
			r.fields(v, key, func(key string, v *yaml.Node) bool {
				switch field := "options." + key; key {
				case "labels":
					s.labels = merged(s.labels, r.texts(v, field))
				case "annotations":
					s.annotations = merged(s.annotations, r.texts(v, field))
				case "immutable":
					if r.truth(v, field) {
						s.immutable = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
					}
				case "disableNameSuffixHash":
					needsHash = !r.truth(v, field)
				default:
					return false
				}
				return true
			})
		case "literals":
			r.badf("literals: a literal is not encrypted: put it into an encrypted file and list that under envs")
		case "name", "namespace":
			r.badf("%s belongs to metadata", key)
		default:
			return false
		}
		return true
	})
	// Annotations that tell how to run the generator are not for its Secret.
	for _, a := range []string{"config.kubernetes.io/function", "config.kubernetes.io/local-config"} {
		delete(s.annotations, a)
	}
	if needsHash {
		s.setAnnotation("kustomize.config.k8s.io/needs-hash", "true")
	}
	if len(s.files)+len(s.envs) > 0 {
		if s.name == "" {
			r.badf("metadata.name is required: it is the name of the Secret")
		}
		if s.typ == "" && !r.lenient {
			s.typ = "Opaque" // as kustomize's generator does
		}
		c.secrets = append(c.secrets, s)
	} else if len(c.manifests) == 0 && len(r.problems) == 0 {
		r.badf("lists no files: expected files, envs or manifests")
	}
}

func (s *secret) setAnnotation(key, value string) {
	if value == "" {
		return
	}
	if s.annotations == nil {
		s.annotations = map[string]string{}
	}
	s.annotations[key] = value
}

func merged(a, b map[string]string) map[string]string {
	if a == nil {
		return b
	}
	for k, v := range b {
		a[k] = v
	}
	return a
}

// ksops reads a manifest of KSOPS.
func (r *reader) ksops(n *yaml.Node, c *request) {
	found := false
	r.fields(n, "", func(key string, v *yaml.Node) bool {
		switch key {
		case "apiVersion", "kind", "metadata":
		case "files":
			found = true
			c.manifests = r.paths(v, key)
		case "fail-silently":
			// Only KSOPS 1 and 2 had it.
			if r.truth(v, key) {
				r.remarks = append(r.remarks, "fail-silently has no effect: a file that cannot be decrypted is always an error")
			}
		case "secretFrom":
			found = true
			for i, v := range r.sequence(v, key) {
				c.secrets = append(c.secrets, r.secretFrom(v, fmt.Sprintf("secretFrom[%d]", i)))
			}
		default:
			return false
		}
		return true
	})
	if !found && len(r.problems) == 0 {
		r.badf("lists no files: expected files or secretFrom")
	}
}

// secretFrom reads one Secret of a manifest of KSOPS.
func (r *reader) secretFrom(n *yaml.Node, field string) secret {
	s := secret{field: field, asKSOPS: true, lastWins: true}
	r.fields(n, field, func(key string, v *yaml.Node) bool {
		switch at := field + "." + key; key {
		case "metadata":
			r.fields(v, at, func(key string, v *yaml.Node) bool {
				switch at := at + "." + key; key {
				case "name":
					s.name = r.text(v, at)
				case "namespace":
					s.namespace = r.text(v, at)
				case "labels":
					s.labels = r.texts(v, at)
				case "annotations":
					s.annotations = r.texts(v, at)
				default:
					return false
				}
				return true
			})
		case "type":
			s.typ = r.text(v, at)
		case "files":
			s.files = r.keyed(v, at)
		case "binaryFiles":
			s.binaryFiles = r.keyed(v, at)
		case "envs":
			s.envs = r.paths(v, at)
		default:
			return false
		}
		return true
	})
	if s.name == "" && len(r.problems) == 0 {
		r.badf("%s.metadata.name is required: it is the name of the Secret", field)
	}
	return s
}

// fields calls f for each field of an object. f returns false for a field that is not known.
func (r *reader) fields(n *yaml.Node, field string, f func(key string, v *yaml.Node) bool) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.badf("%s is not an object", field)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if f(key, n.Content[i+1]) {
			continue
		}
		at := strings.TrimPrefix(field+"."+key, ".")
		if r.lenient {
			r.remarks = append(r.remarks, printable(at)+" is not known and has no effect")
		} else {
			r.badf("%s is not known", at)
		}
	}
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// text reads a string. Null is the empty string.
func (r *reader) text(n *yaml.Node, field string) string {
	if isNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.badf("%s is not a string", field)
		return ""
	}
	return n.Value
}

func (r *reader) truth(n *yaml.Node, field string) bool {
	if isNull(n) {
		return false
	}
	var b bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		r.badf("%s is not true or false", field)
	}
	return b
}

// texts reads an object of strings.
func (r *reader) texts(n *yaml.Node, field string) map[string]string {
	m := map[string]string{}
	r.fields(n, field, func(key string, v *yaml.Node) bool {
		m[key] = r.text(v, field+"."+key)
		return true
	})
	return m
}

func (r *reader) sequence(n *yaml.Node, field string) []*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.badf("%s is not a list", field)
		return nil
	}
	return n.Content
}

// paths reads a list of files.
func (r *reader) paths(n *yaml.Node, field string) []source {
	var list []source
	for i, v := range r.sequence(n, field) {
		at := fmt.Sprintf("%s[%d]", field, i)
		list = append(list, source{field: at, path: r.path(r.text(v, at), at)})
	}
	return list
}

// keyed reads a list of files, each with an optional key: KEY=PATH.
func (r *reader) keyed(n *yaml.Node, field string) []source {
	var list []source
	for i, v := range r.sequence(n, field) {
		at := fmt.Sprintf("%s[%d]", field, i)
		text := r.text(v, at)
		key, file, ok := strings.Cut(text, "=")
		if !ok {
			key, file = path.Base(text), text
		}
		if strings.Contains(file, "=") {
			r.badf("%s: %q has more than one =", at, text)
			continue
		}
		if ok && (key == "" || file == "") {
			r.badf("%s: %q is not of the form KEY=PATH", at, text)
			continue
		}
		file = r.path(file, at)
		if file != "" && !secretKey.MatchString(key) {
			r.badf("%s: %q is not a key of a Secret: use letters, digits, dashes, underscores and dots", at, key)
		}
		list = append(list, source{at, key, file})
	}
	return list
}

// secretKey matches the keys that a Secret may have.
var secretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// path checks the path of a file: it is below the directory of the layer. Links are checked
// when the file is opened.
func (r *reader) path(p, field string) string {
	clean := path.Clean(p)
	switch {
	case p == "":
		if len(r.problems) == 0 {
			r.badf("%s: the path is empty", field)
		}
		return ""
	case path.IsAbs(p) || strings.ContainsAny(p, "\\\x00"):
		r.badf("%s: %s: expected a path relative to the layer that lists the configuration, with slashes", field, p)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		r.badf("%s: %s leads out of the directory of the layer that lists the configuration", field, p)
	}
	return clean
}
