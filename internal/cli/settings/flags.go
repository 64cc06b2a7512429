package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/pflag"
)

// prefix is the prefix of the names of variables.
const prefix = "KRMFLOW_"

// otherVariables are variables that do not correspond to a flag. Variables whose names start
// with TEST do not either.
var otherVariables = []string{"DEBUG", "EXECUTOR", "LONG_TESTS", "ORACLE", "PAGER", "TREES"}

// ofOneRun are flags that select what a single command works on. They cannot be set in the file
// or by variables.
var ofOneRun = []string{"help", "version", "recursive", "run", "only", "exclude", "shard", "output", "plan", "file", "check", "force",
	"update", "prune", "scope", "no-verify",
	"stack-trace", "enable-star", "only-these", "detail", "against", "diff", "no-eval", "root", "to", "from", "profile", "pprof",
	"layers", "affected-by", "reduce", "path", "cycles", "since", "files", "really", "null", "format", "target", "in", "directory", "dev",
	"grant", "write-baseline", "exit-code"}

// trusted are flags that decide which programs may run, what they can access, which files,
// fetched or cached content is trusted, or whether a run ends. Variables cannot set them: the
// author of a file that a shell or a build reads before it starts krmflow controls the
// variables (T21, TR-12).
var trusted = []string{"enable-alpha-plugins", "enable-exec", "enable-helm", "helm-command", "network", "network-name", "mount", "env",
	"as-current-user",
	"strict-trust", "require-catalog-checksums", "allow-unverified", "allow-unsandboxed", "allow-error-results", "allow-http",
	"prefer-exec", "container-runtime", "cel",
	"executor", "level", "baseline", "load-restrictor", "max-cpu", "cache-dir", "cache-secrets", "remote-cache", "remote-cache-ca",
	"remote-cache-credential-helper"}

// careful are flags that make a run reject or redact more. A variable may turn them on, but
// cannot turn them off if the user's file turns them on, for the same reason as above.
var careful = []string{"locked", "offline", "strict", "strict-references", "validate", "fail-on-secrets", "redact-secrets"}

// ofClient are flags for the credentials and the mode of a shared cache. A variable may set
// them, because CI has its secrets in variables, but must not override the user's file: a
// different client may get content that others have stored.
var ofClient = []string{"remote-cache-cert", "remote-cache-key", "remote-cache-header", "remote-cache-mode"}

// catalogFlags are replaced by a list in the file, which has more fields.
var catalogFlags = []string{"trusted-plugin-catalog", "trusted-catalog", "alpha-trusted-plugin-catalog"}

// ofProduct are the flags of kustomize build that affect its output.
var ofProduct = []string{"reorder", "enable-managedby-label", "helm-api-versions", "helm-kube-version"}

// WithoutProduct returns s without the settings that affect the output of kustomize build.
func (s *Settings) WithoutProduct() *Settings {
	if s == nil {
		return nil
	}
	out := *s
	out.values = slices.DeleteFunc(slices.Clone(s.values), func(v value) bool { return slices.Contains(ofProduct, v.flag) })
	return &out
}

// Trusted returns the flags that variables cannot set.
func Trusted() []string { return slices.Concat(trusted, catalogFlags) }

// IsSetting reports whether the user's file can set a flag.
func IsSetting(flag string) bool {
	return !slices.Contains(ofOneRun, flag) && !slices.Contains(catalogFlags, flag)
}

// IsTrusted reports whether a flag affects trust, so that variables cannot set it.
func IsTrusted(flag string) bool {
	return slices.Contains(trusted, flag) || slices.Contains(catalogFlags, flag)
}

// Key returns the key of a flag in the user's file: logFormat for log-format.
func Key(flag string) string {
	words := strings.Split(flag, "-")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// Variable returns the name of the variable of a flag: KRMFLOW_LOG_FORMAT for log-format.
func Variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Settings are the values of flags in the user's file and in variables. A nil *Settings has
// none.
type Settings struct {
	// Restrictions are the entries of loadRestrictions.
	Restrictions []Restriction
	values       []value // variables come first: they take precedence
	mistakes     []error // in the file
}

// value is the value of a flag from one source.
type value struct {
	flag  string
	texts []string
	list  bool
	// name is the name of the variable or the key in the file. pos is the position in the file.
	name string
	pos  diag.Pos
}

// isVariable reports whether v comes from a variable rather than the file.
func (v value) isVariable() bool { return v.pos.File == "" }

// source returns the variable or the position in the file.
func (v value) source() string {
	if v.isVariable() {
		return v.name
	}
	return v.pos.String()
}

// Load reads the user's file and the variables. It returns nil if neither sets a flag. If other
// users can write to the file and it sets a flag, the error is an [*UnsafeError]. A file
// without read permission is ignored.
func Load() (*Settings, error) {
	s := &Settings{values: variables(os.Environ())}
	src, err := readConfig()
	var unsafe *UnsafeError
	switch {
	case errors.Is(err, fs.ErrPermission):
	case err != nil && !errors.As(err, &unsafe):
		return nil, err
	case src != nil:
		if more := s.read(src); more && unsafe != nil {
			return nil, unsafe
		}
	}
	if len(s.values)+len(s.Restrictions)+len(s.mistakes) == 0 {
		return nil, nil
	}
	return s, nil
}

// variables returns the values of variables. Empty variables are ignored.
func variables(environ []string) (list []value) {
	for _, text := range environ {
		text, ours := strings.CutPrefix(text, prefix)
		name, set, ok := strings.Cut(text, "=")
		if !ours || !ok || set == "" || slices.Contains(otherVariables, name) || strings.HasPrefix(name, "TEST") {
			continue
		}
		flag := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if name == "LOG" {
			flag = "log-level" // a common name in other programs
		}
		list = append(list, value{flag: flag, texts: []string{set}, name: prefix + name})
	}
	return list
}

// read reads the file. more reports whether it has fields that [trust.ParseConfig] does not
// read.
func (s *Settings) read(src *yaml.Source) (more bool) {
	doc, err := src.Strict()
	if err != nil {
		s.mistakes = append(s.mistakes, err)
		return true
	}
	top := yaml.NewCursor(doc.Value, doc.Locate)
	for _, f := range doc.Value.Fields() {
		c := top.Field(f.Key)
		switch {
		case slices.Contains(trust.ConfigFields, f.Key) || f.Value.IsNull():
			continue
		case f.Key == restrictionsKey:
			s.restrictions(c)
		default:
			s.values = append(s.values, fileValue(c, f))
		}
		more = true
	}
	if more {
		trust.CheckConfig(top)
	}
	for _, e := range top.Mistakes() {
		s.mistakes = append(s.mistakes, e)
	}
	return more
}

// fileValue returns the value of a field in the file.
func fileValue(c yaml.Cursor, f yaml.Field) value {
	v := value{name: f.Key, pos: c.Pos(), list: f.Value.Type() == yaml.Seq}
	if name := flagOf(f.Key); Key(name) == f.Key {
		v.flag = name // otherwise the spelling differs, and the key is unknown
	}
	items := []yaml.Cursor{c}
	if v.list {
		items = c.Items()
	}
	for _, x := range items {
		if !x.Value().IsScalar() {
			x.Errorf("must be a value, not %s", x.Value().Type().Article()).With(diag.BadConfig)
			continue
		}
		v.texts = append(v.texts, x.Value().Text())
	}
	return v
}

// flagOf returns the flag name for a key.
func flagOf(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// from is the annotation of flags whose value comes from a variable or the file. It has the
// source.
const from = "krmflow.dev/from"

// From returns the variable or the position in the user's file from which a flag got its value.
// It is empty for a flag that was not set this way.
func From(f *pflag.Flag) string {
	if f == nil || len(f.Annotations[from]) == 0 {
		return ""
	}
	return f.Annotations[from][0]
}

// IsSet reports whether a flag was set on the command line, by a variable or in the user's
// file.
func IsSet(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(name)
	return f != nil && (f.Changed || From(f) != "")
}

// FromVariable reports whether a flag got its value from a variable. A file of a repository can
// set variables.
func FromVariable(flags *pflag.FlagSet, name string) bool {
	return strings.HasPrefix(From(flags.Lookup(name)), prefix)
}

// Apply sets flags that are not on the command line to the values of s. A flag that it sets is
// not marked as changed. An unknown setting is an error in the file and a warning in a
// variable.
//
// all returns the flags of all commands, to detect unknown settings. complete reports that
// flags belong to a command that has most flags with their usual meanings. Then all, which is
// slow, is only called for settings that flags lacks.
func (s *Settings) Apply(flags *pflag.FlagSet, complete bool, all func() *pflag.FlagSet) (warnings []*diag.Error, err error) {
	if s == nil {
		return nil, nil
	}
	mistakes := slices.Clip(s.mistakes)
	all = sync.OnceValue(all)
	for _, v := range s.values {
		f := flags.Lookup(v.flag)
		known := f
		if f == nil || !complete {
			known = all().Lookup(v.flag)
		}
		switch {
		case known != nil && s.loosens(v):
			warnings = append(warnings, v.errorf("the user's file sets %s, and a variable cannot undo that; it has no effect", Key(v.flag)).
				Hint("use --%s, or change %s", v.flag, ConfigPath()))
		case known == nil || !IsSetting(v.flag) || v.isVariable() && IsTrusted(v.flag):
			if e := v.refused(known, all()); v.isVariable() {
				warnings = append(warnings, e)
			} else {
				mistakes = append(mistakes, e)
			}
		case f == nil || f.Usage != known.Usage || f.Changed || From(f) != "":
		default:
			if e := v.set(f); e != nil {
				mistakes = append(mistakes, e)
			}
		}
	}
	return warnings, errors.Join(mistakes...)
}

// loosens reports whether v is a variable that turns off a careful flag or changes a client
// flag that the file sets.
func (s *Settings) loosens(v value) bool {
	ofClient := slices.Contains(ofClient, v.flag)
	if !v.isVariable() || !ofClient && !slices.Contains(careful, v.flag) {
		return false
	}
	if on, err := strconv.ParseBool(v.texts[0]); !ofClient && (err != nil || on) {
		return false
	}
	return slices.ContainsFunc(s.values, func(o value) bool {
		return !o.isVariable() && o.flag == v.flag && (ofClient || len(o.texts) == 1 && o.texts[0] == "true")
	})
}

// set sets a flag to the value.
func (v value) set(f *pflag.Flag) error {
	texts := v.texts
	switch {
	case len(texts) == 0 && !v.list: // its error has been reported already
		return nil
	case v.needsAbsolute():
		return v.errorf("%q must be an absolute path", texts[0])
	}
	switch isList := f.Value.Type() == "stringArray"; {
	case isList && v.isVariable():
		texts = strings.Split(v.texts[0], ",")
	case !isList && v.list:
		return v.errorf("must be one value, not a list")
	}
	for _, text := range texts {
		if err := f.Value.Set(text); err != nil {
			return v.errorf("%s", WrongValue(f.Value.Type(), text, err))
		}
	}
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[from] = []string{v.source()}
	return nil
}

// needsAbsolute reports whether v names the cache, or a file for the shared cache, by a
// relative path, which could lead into a rendered directory. A credential helper may also be a
// name on PATH.
func (v value) needsAbsolute() bool {
	switch {
	case v.list || filepath.IsAbs(v.texts[0]):
		return false
	case v.flag == "remote-cache-credential-helper":
		return filepath.Base(v.texts[0]) != v.texts[0]
	}
	return v.flag == "cache-dir" || v.flag == "remote-cache-ca" || v.flag == "remote-cache-cert" || v.flag == "remote-cache-key"
}

func (v value) errorf(format string, args ...any) *diag.Error {
	if v.isVariable() {
		return diag.Errorf(diag.Pos{}, "", v.name+": "+format, args...).With(diag.FlagValue)
	}
	return diag.Errorf(v.pos, v.name, format, args...).With(diag.BadConfig)
}

// refused returns the error for a value that has no effect. f is the flag with this name, or
// nil if there is none.
func (v value) refused(f *pflag.Flag, known *pflag.FlagSet) *diag.Error {
	variable := v.isVariable()
	switch {
	case f != nil && slices.Contains(catalogFlags, v.flag) && !variable:
		return v.errorf("catalogs are trusted under trustedCatalogs").Hint("add one with 'krmflow trust add CATALOG'")
	case f != nil && variable && IsTrusted(v.flag):
		e := v.errorf("a variable cannot decide %s; it has no effect", decides(v.flag))
		if slices.Contains(catalogFlags, v.flag) {
			return e.Hint("add --%s, or 'krmflow trust add CATALOG'", v.flag)
		}
		return e.Hint("add --%s, or set %s in %s", v.flag, Key(v.flag), ConfigPath())
	case f != nil:
		return v.errorf("--%s applies to a single command line, and cannot be set here", v.flag)
	}
	var names []string
	known.VisitAll(func(f *pflag.Flag) {
		switch {
		case !IsSetting(f.Name):
		case !variable:
			names = append(names, Key(f.Name))
		case !IsTrusted(f.Name):
			names = append(names, Variable(f.Name))
		}
	})
	e := v.errorf("no such setting")
	if !variable {
		names = slices.Concat(names, trust.ConfigFields, []string{restrictionsKey})
	}
	if name := Key(strings.ToLower(strings.ReplaceAll(v.name, "_", "-"))); !variable && slices.Contains(names, name) {
		return e.Hint("did you mean %q?", name)
	}
	e.Hints = diag.DidYouMean(v.name, names)
	return e
}

// decides returns the effect of a trusted flag, for the warning about its variable.
func decides(flag string) string {
	switch flag {
	case "cache-dir":
		return "which cache is used"
	case "max-cpu":
		return "when a run is stopped"
	}
	return "what krmflow trusts"
}

// WrongValue returns the reason why a text is not a value of a flag of the given type. The
// parsers' own errors mention Go types.
func WrongValue(kind, text string, err error) string {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("%q is too large", text)
	case strings.HasPrefix(kind, "int"):
		return fmt.Sprintf("%q is not a number", text)
	case kind == "duration":
		return fmt.Sprintf("%q is not a duration such as 90s or 5m", text)
	case kind == "bool":
		return fmt.Sprintf("%q is neither true nor false", text)
	}
	return err.Error()
}
