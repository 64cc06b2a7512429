package danger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A privilege is a right of a pod or a user. Two privileges with the same key are the same right.
type privilege struct {
	key   string
	path  []any
	value yaml.Value
	msg   string
	hint  string
}

// privileges adds a finding for each privilege that the new object has and the old one has not.
func (c *change) privileges() {
	had := map[string]bool{}
	for _, p := range podPrivileges(c.old) {
		had[p.key] = true
	}
	for _, p := range podPrivileges(c.now) {
		if !had[p.key] {
			had[p.key] = true
			c.privilege(p, get(c.old, c.oldPath(p.path)))
		}
	}
	c.dropsDenial()
	for _, p := range roleGrants(c.old, c.now) {
		c.privilege(p, yaml.Value{})
	}
	for _, p := range adminSubjects(c.old, c.now) {
		c.privilege(p, yaml.Value{})
	}
}

func (c *change) privilege(p privilege, old yaml.Value) {
	f := Finding{Code: diag.NewPrivilege, Path: p.path, Old: old, New: p.value, Msg: p.msg}
	if p.hint != "" {
		f.Hints = []string{p.hint}
	}
	c.add(f)
}

// oldPath returns the path in the old object for a path in the new one. Items with a name are found
// by it. It is nil if there is no such item.
func (c *change) oldPath(path []any) (old []any) {
	v, w := c.now, c.old
	for _, step := range path {
		switch s := step.(type) {
		case string:
			v, w = v.Get(s), w.Get(s)
		case int:
			name := item(v, s).Get("name").Text()
			k := slices.IndexFunc(w.Items(), func(x yaml.Value) bool { return x.Get("name").Text() == name })
			if name == "" || k < 0 {
				return []any{"\x00"}
			}
			v, w, step = item(v, s), item(w, k), k
		}
		old = append(old, step)
	}
	return old
}

// podSpecs are the places of pod specs in objects of any kind. Custom kinds use them too.
var podSpecs = [][]any{
	{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}, {"template", "spec"},
}

// eachPod calls visit for each pod spec of an object.
func eachPod(v yaml.Value, visit func(path []any, spec yaml.Value)) {
	for _, path := range podSpecs {
		spec := get(v, path)
		// The spec of other kinds may have a list of containers with a different meaning.
		if len(path) == 1 && v.Get("kind").Text() != "Pod" {
			continue
		}
		if spec.Get("containers").Type() == yaml.Seq {
			visit(path, spec)
		}
	}
}

// containerLists are the fields of a pod spec that list containers.
var containerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// eachContainer calls visit for each container of an object.
func eachContainer(v yaml.Value, visit func(path []any, container yaml.Value)) {
	eachPod(v, func(path []any, spec yaml.Value) {
		for _, list := range containerLists {
			for i, x := range spec.Get(list).Items() {
				visit(join(path, list, i), x)
			}
		}
	})
}

// podFields are the fields of a pod spec that give privileges. They are the controls of the
// baseline profile of the Pod Security Standards that a value alone decides.
var podFields = []struct{ field, value, msg string }{
	{"hostNetwork", "true", "uses the network of the node"},
	{"hostPID", "true", "sees and can signal all processes of the node"},
	{"hostIPC", "true", "shares memory with processes of the node"},
	{"securityContext.runAsUser", "0", "containers run as root"},
	{"securityContext.seccompProfile.type", "Unconfined", "no system call is blocked"},
	{"securityContext.windowsOptions.hostProcess", "true", "containers run as processes of the node"},
}

// containerFields are the fields of a container that give privileges.
var containerFields = []struct{ field, value, msg string }{
	{"securityContext.privileged", "true", "the container has all rights of root on the node"},
	{"securityContext.allowPrivilegeEscalation", "true", "processes can gain more rights than their parent"},
	{"securityContext.runAsUser", "0", "the container runs as root"},
	{"securityContext.procMount", "Unmasked", "the container sees all of /proc"},
	{"securityContext.seccompProfile.type", "Unconfined", "no system call is blocked"},
	{"securityContext.windowsOptions.hostProcess", "true", "the container runs as a process of the node"},
}

// podPrivileges returns the privileges of the pods of an object.
func podPrivileges(v yaml.Value) (list []privilege) {
	eachPod(v, func(path []any, spec yaml.Value) {
		for _, f := range podFields {
			at := join(path, fields(f.field)...)
			if x := get(v, at); x.Text() == f.value {
				list = append(list, privilege{key: f.field, path: at, value: x, msg: f.msg})
			}
		}
		for i, x := range spec.Get("volumes").Items() {
			if dir := x.At("hostPath", "path"); dir.Exists() {
				list = append(list, privilege{key: "hostPath " + dir.Text(), path: join(path, "volumes", i, "hostPath", "path"), value: dir,
					msg: "mounts a directory of the node: " + diag.OneLine(dir.Text())})
			}
		}
	})
	eachContainer(v, func(path []any, container yaml.Value) {
		name := container.Get("name").Text() + " "
		for _, f := range containerFields {
			at := join(path, fields(f.field)...)
			x := get(v, at)
			if x.Text() != f.value || strings.HasSuffix(f.field, "Escalation") && container.At("securityContext",
				"privileged").Text() == "true" {
				continue
			}
			list = append(list, privilege{key: name + f.field, path: at, value: x, msg: f.msg})
		}
		for i, x := range container.At("securityContext", "capabilities", "add").Items() {
			list = append(list, privilege{key: name + "capability " + x.Text(), value: x,
				path: join(path, "securityContext", "capabilities", "add", i), msg: "adds the capability " + diag.OneLine(x.Text())})
		}
	})
	return list
}

// dropsDenial adds a finding for each container whose allowPrivilegeEscalation was false and is
// absent, which means true.
func (c *change) dropsDenial() {
	const field = "allowPrivilegeEscalation"
	eachContainer(c.now, func(path []any, container yaml.Value) {
		old := get(c.old, c.oldPath(path)).At("securityContext", field)
		if old.Text() == "false" && !container.At("securityContext", field).Exists() {
			at := join(c.oldPath(path), "securityContext", field)
			c.add(Finding{Code: diag.NewPrivilege, Path: at, InOld: true, Old: old,
				Msg: "the default is true: processes can gain more rights than their parent"})
		}
	})
}

// A grant is a verb on a resource of a group, as a rule of a Role gives it.
type grant struct {
	group, resource, verb, names string
}

// maxGrants limits the grants of a Role that are compared.
const maxGrants = 4096

// dangerousVerbs are the verbs that let a user gain rights beyond a rule.
var dangerousVerbs = map[string]string{
	"escalate":    "lets its users give themselves any right",
	"bind":        "lets its users bind roles that they do not have",
	"impersonate": "lets its users act as others",
}

// roleGrants returns the privileges of the rules of a Role that its old rules do not include: a
// wildcard, or a dangerous verb.
func roleGrants(old, now yaml.Value) (list []privilege) {
	if group, kind, _, _ := identity(now); group != rbac || kind != "Role" && kind != "ClusterRole" {
		return nil
	}
	var had []grant
	for _, r := range old.Get("rules").Items() {
		had = append(had, grantsOf(r, maxGrants-len(had))...)
	}
	left := maxGrants
	for i, r := range now.Get("rules").Items() {
		found, grants := map[string]bool{}, grantsOf(r, left)
		left -= len(grants)
		for _, g := range grants {
			if slices.ContainsFunc(had, func(h grant) bool { return h.includes(g) }) {
				continue
			}
			field, value, msg := "verbs", g.verb, dangerousVerbs[g.verb]
			switch {
			case msg != "":
			case g.verb == "*":
				msg = rights(r)
			case g.resource == "*":
				field, value, msg = "resources", "*", rights(r)
				if !has(r.Get(field), value) {
					field = "nonResourceURLs"
				}
			default:
				field, value, msg = "apiGroups", "*", rights(r)
			}
			if !found[msg] {
				found[msg] = true
				k := slices.Index(texts(r.Get(field)), value)
				list = append(list, privilege{path: []any{"rules", i, field, k}, value: yaml.Str(value), msg: msg,
					hint: "list the rights that are needed, unless the role is for administrators"})
			}
		}
	}
	return list
}

// rights returns the rights that a rule with wildcards gives, for messages.
func rights(rule yaml.Value) string {
	some := func(field, every, none string) string {
		list := texts(rule.Get(field))
		if slices.Contains(list, "*") {
			return every
		}
		for i := range list {
			list[i] = cmp.Or(list[i], none)
		}
		return diag.OneLine(diag.Some(list))
	}
	verbs := some("verbs", "every verb", "")
	if rule.Get("nonResourceURLs").Len() > 0 {
		return fmt.Sprintf("gives %s on %s", verbs, some("nonResourceURLs", "every URL", ""))
	}
	return fmt.Sprintf("gives %s on %s of %s", verbs, some("resources", "every resource", ""),
		some("apiGroups", "every API group", "the core API"))
}

// has reports whether a list has a text.
func has(list yaml.Value, text string) bool { return slices.Contains(texts(list), text) }

// grantsOf returns the grants of a rule that have a wildcard or a dangerous verb, at most most of
// them.
func grantsOf(rule yaml.Value, most int) (list []grant) {
	names := strings.Join(texts(rule.Get("resourceNames")), "\x00")
	groups, resources, verbs := texts(rule.Get("apiGroups")), texts(rule.Get("resources")), texts(rule.Get("verbs"))
	if urls := texts(rule.Get("nonResourceURLs")); len(urls) > 0 {
		groups, resources = append(groups, "url"), append(resources, urls...)
	}
	for _, group := range groups {
		for _, res := range resources {
			for _, verb := range verbs {
				if group != "*" && res != "*" && verb != "*" && dangerousVerbs[verb] == "" {
					continue
				}
				if len(list) >= most {
					return list
				}
				list = append(list, grant{group, res, verb, names})
			}
		}
	}
	return list
}

// includes reports whether g gives at least the rights of x.
func (g grant) includes(x grant) bool {
	covers := func(a, b string) bool { return a == "*" || a == b }
	return covers(g.group, x.group) && covers(g.resource, x.resource) && covers(g.verb, x.verb) && (g.names == "" || g.names == x.names)
}

// texts returns the items of a list of strings.
func texts(v yaml.Value) (list []string) {
	for _, x := range v.Items() {
		list = append(list, x.Text())
	}
	return list
}

// adminSubjects returns a privilege for each subject that a binding newly gives the role
// cluster-admin.
func adminSubjects(old, now yaml.Value) (list []privilege) {
	isAdmin := func(v yaml.Value) bool {
		ref := v.Get("roleRef")
		return groupOf(v) == rbac && ref.Get("kind").Text() == "ClusterRole" && ref.Get("name").Text() == "cluster-admin"
	}
	if !isAdmin(now) {
		return nil
	}
	subject := func(x yaml.Value) string {
		return strings.TrimSpace(x.Get("kind").Text() + " " + strings.TrimPrefix(x.Get("namespace").Text()+"/"+x.Get("name").Text(), "/"))
	}
	had := map[string]bool{}
	for _, x := range old.Get("subjects").Items() {
		had[subject(x)] = isAdmin(old)
	}
	scope := "the cluster"
	if now.Get("kind").Text() == "RoleBinding" {
		scope = "the namespace"
	}
	for i, x := range now.Get("subjects").Items() {
		if !had[subject(x)] {
			list = append(list, privilege{path: []any{"subjects", i}, value: x,
				msg: fmt.Sprintf("%s becomes cluster-admin, with all rights in %s", diag.OneLine(subject(x)), scope)})
		}
	}
	return list
}

// images adds a finding for each new or changed image that can change without a change of the
// manifest. An image of several containers is one finding.
func (c *change) images() {
	had, reported := map[string]string{}, map[string]bool{}
	eachContainer(c.old, func(path []any, x yaml.Value) { had[x.Get("name").Text()] = x.Get("image").Text() })
	eachContainer(c.now, func(path []any, x yaml.Value) {
		image, name := x.Get("image"), x.Get("name").Text()
		old, known := had[name]
		msg := unpinned(image.Text())
		if known && old == image.Text() || msg == "" || reported[image.Text()] {
			return
		}
		reported[image.Text()] = true
		f := Finding{Code: diag.UnpinnedImage, Path: join(path, "image"), New: image, Msg: diag.OneLine(image.Text()) + " " + msg,
			Hints: []string{"give it a tag or digest, for example with `images` in the kustomization"}}
		if known {
			f.Old = yaml.Str(old)
		}
		c.add(f)
	})
}

// unpinned returns the problem of an image without a fixed tag or digest, "" if it has one or is
// not known yet.
func unpinned(image string) string {
	if image == "" || strings.ContainsAny(image, "@$({ ") {
		return ""
	}
	_, tag, ok := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	switch {
	case !ok:
		return "has no tag or digest, which means the tag latest"
	case tag == "latest":
		return "can be a different image at each start of a pod"
	}
	return ""
}
