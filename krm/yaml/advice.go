package yaml

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// ErrConflict reports the conflict markers of git in a file.
var ErrConflict = diag.ConflictMarks.Errorf("this is an unresolved merge conflict")

// advise adds advice to an error in YAML text from a file. Conflict markers cause all sorts of
// syntax errors. If there are any, advise returns an error about them instead.
func advise(err error, pc piece) error {
	e, ok := err.(*diag.Error)
	if !ok {
		return err
	}
	if start, end := conflict(pc.text); start > 0 {
		e = diag.Errorf(diag.Pos{File: e.Pos.File, Line: pc.line - 1 + start}, "", "%w", ErrConflict)
		if end > 0 {
			e.Hint("it ends on line %d", pc.line-1+end)
		}
		return e.Hint("keep one side or combine both, and remove the lines with <<<<<<<, ======= and >>>>>>>")
	}
	if hint := adviceFor(e.Msg); hint != "" && len(e.Hints) == 0 {
		e.Hint("%s", hint)
	}
	return e
}

// conflict returns the lines of the first conflict marker and of the marker that ends the
// conflict, 0 if there is none.
func conflict(text string) (start, end int) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		switch {
		case start == 0 && (strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ")):
			start = n
		case start > 0 && strings.HasPrefix(line, ">>>>>>>"):
			return start, n
		}
	}
	return start, 0
}

// adviceFor returns advice for an error of a parser, "" if the message is sufficient.
func adviceFor(reason string) string {
	for _, a := range [...]struct{ said, hint string }{
		{"found a second \"key: \"", "indent it on its own line, or put the text in quotes"},
		{"found a tab", "indent with spaces: YAML does not allow tabs there"},
		{"expected a colon", "write each line of a mapping as key: value; a text of several lines needs | or quotes"},
		{"found more indentation", "start all fields of a mapping, and all items of a list, in the same column"},
		{"this line is not part", "start all fields of a mapping, and all items of a list, in the same column"},
		{"this mapping has a line",
			"start all fields of a mapping in the same column, as key: value; expand templates before krmflow reads the file"},
		{"expected a dash", "start all items of a list in the same column, each with a dash and a space"},
		{"found a list item", "indent the list below its key, or remove the dash"},
		{"the closing bracket", "close it with ] or }, or write the list or mapping on lines of its own"},
		{"expected a comma",
			"write a comma between items, and close the list with ] and the mapping with }; quote a text that contains [ or {"},
		{"the closing quote", "close it with the quote that it starts with; inside single quotes, write a quote twice"},
		{"found an unknown escape", "write \\\\ for a backslash, or put the text in single quotes"},
		{"found more text after", "put the whole text in quotes"},
		{"found text after the |", "start the text on the next line, indented"},
		{"the alias",
			"write the value itself, or define an anchor (&name) above it in this document: anchors of other files are not visible"},
		{"the document is", "an object is a mapping with apiVersion, kind and metadata.name"},
		{"the object has no kind", "an object has apiVersion, kind and metadata.name"},
	} {
		if strings.HasPrefix(reason, a.said) {
			return a.hint
		}
	}
	switch {
	case strings.Contains(reason, "has metadata.generateName"):
		return "write metadata.name; for a new object each time, change nameSuffix each time, or keep the file out of resources and run kubectl create -f"
	case strings.HasSuffix(reason, "has no metadata.name"):
		return "add one: objects are identified by apiVersion, kind, namespace and name"
	case strings.HasSuffix(reason, "has no apiVersion"):
		return "add apiVersion: " + versionOf(reason)
	case strings.Contains(reason, " occurs twice in one mapping"):
		return "remove one of them"
	case strings.Contains(reason, " is rewritten as "):
		return "put it in quotes if it is a string"
	case strings.HasSuffix(reason, " is rewritten in a different form"):
		return "put it in quotes if it is a string; it is not shown because the document may contain secrets"
	case strings.HasSuffix(reason, " contains no resource"):
		return "remove it from the list, or write a resource into it"
	}
	return ""
}

// versionOf returns the apiVersion of the kind in reason, if it is a common one, and otherwise
// describes the form of an apiVersion.
func versionOf(reason string) string {
	kind := reason[:len(reason)-len(" has no apiVersion")]
	kind = kind[strings.LastIndexByte(kind, ' ')+1:]
	switch kind {
	case "ConfigMap", "Namespace", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount":
		return "v1"
	case "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet":
		return "apps/v1"
	case "CronJob", "Job":
		return "batch/v1"
	case "Ingress", "NetworkPolicy":
		return "networking.k8s.io/v1"
	case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
		return "rbac.authorization.k8s.io/v1"
	case "HorizontalPodAutoscaler":
		return "autoscaling/v2"
	case "PodDisruptionBudget":
		return "policy/v1"
	}
	return "v1, or GROUP/VERSION"
}
