package edit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/command/edit"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/api/types"
)

var (
	pairs = flag.Int("pairs", longtest.Sample(15, 150, 150), "how many pairs of file and edit TestLikeKustomize tries")
	seed  = flag.Uint64("seed", 1, "the first of them")
	trees = flag.String("trees", "", "a directory whose kustomization files are edited, too")
)

// TestLikeKustomize runs random edits of random files with krmflow and with kustomize. Either both
// fail, or both files have the same meaning. krmflow must change only the lines that the edit
// concerns. `make edittest` tries many more edits.
func TestLikeKustomize(t *testing.T) {
	kustomize, err := filepath.Abs("../../../.tools/kustomize")
	if _, missing := os.Stat(kustomize); err != nil || missing != nil {
		if kustomize, err = exec.LookPath("kustomize"); err != nil {
			t.Skip("there is no kustomize to compare with: run make kustomize")
		}
	}
	found := kustomizationFiles(t, *trees)
	var succeeded, failed, known int
	for n := range *pairs {
		s := *seed + uint64(n)
		w := &writer{Rand: rand.New(rand.NewPCG(s, 13))}
		text := w.file()
		if len(found) > 0 && s%2 == 0 {
			text = pick(w.Rand, found...)
		}
		args := w.command()
		if w.chance(6) {
			args = pick(w.Rand, []string{"fix"}, []string{"fix", "--vars"})
		}
		if c := (comparison{kustomize, text, args}); c.isKnown() {
			known++
		} else if ok, err := c.run(t.TempDir()); err != nil {
			t.Errorf("seed %d: edit %q: %v\n--- file\n%s", s, args, err, text)
		} else if ok {
			succeeded++
		} else {
			failed++
		}
	}
	t.Logf("%d edits succeeded with both, %d failed with both, %d are known to differ", succeeded, failed, known)
}

// kustomizationFiles returns the content of all kustomization files below a directory.
func kustomizationFiles(t *testing.T, dir string) (list []string) {
	if dir == "" {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, e.Name()) {
			return err
		}
		if text, err := os.ReadFile(path); err == nil { // some are dangling links
			list = append(list, string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A comparison is one edit of one file.
type comparison struct {
	kustomize, text string
	args            []string
}

// run runs the edit with both programs, in folders below dir, and reports whether it succeeds.
func (c comparison) run(dir string) (ok bool, err error) {
	theirs, ours := filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	for _, d := range []string{theirs, ours} {
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(d, name)), 0o777); err != nil {
				return false, err
			}
			if err := os.WriteFile(filepath.Join(d, name), []byte(text), 0o666); err != nil {
				return false, err
			}
		}
		if err := os.WriteFile(filepath.Join(d, "kustomization.yaml"), []byte(c.text), 0o666); err != nil {
			return false, err
		}
	}
	cmd := exec.Command(c.kustomize, append([]string{"edit"}, c.args...)...)
	cmd.Dir = theirs
	out, theirErr := cmd.CombinedOutput()
	ourErr := runEdit(ours, c.args)
	if bytes.Contains(out, []byte("panic:")) {
		return false, nil
	}
	if (theirErr == nil) != (ourErr == nil) {
		return false, fmt.Errorf("kustomize: %v, krmflow: %v\n%s", theirErr, ourErr, out)
	}
	want, _ := os.ReadFile(filepath.Join(theirs, "kustomization.yaml"))
	got, _ := os.ReadFile(filepath.Join(ours, "kustomization.yaml"))
	if ourErr != nil {
		if string(got) != c.text {
			return false, fmt.Errorf("it failed and has changed the file:\n%s", got)
		}
		return false, nil
	}
	for name := range files {
		want, _ := os.ReadFile(filepath.Join(theirs, name))
		if got, _ := os.ReadFile(filepath.Join(ours, name)); !bytes.Equal(got, want) {
			return true, fmt.Errorf("another %s\n--- want\n%s\n--- got\n%s", name, want, got)
		}
	}
	w, err := c.meaning(want)
	if err != nil {
		return true, fmt.Errorf("what kustomize wrote: %w\n%s", err, want)
	}
	g, err := c.meaning(got)
	if err != nil {
		return true, fmt.Errorf("what krmflow wrote: %w\n%s", err, got)
	}
	if w != g {
		return true, fmt.Errorf("another meaning\n--- want\n%s\n--- got\n%s\n--- kustomize's file\n%s\n--- krmflow's file\n%s", w, g,
			want, got)
	}
	if err := c.checkLines(string(got)); err != nil {
		return true, fmt.Errorf("%w\n--- krmflow's file\n%s", err, got)
	}
	return true, nil
}

func runEdit(dir string, args []string) error {
	cmd := &cobra.Command{Use: "edit", SilenceErrors: true, SilenceUsage: true}
	same := func(err error) error { return err }
	sameFlag := func(_ *cobra.Command, err error) error { return err }
	s := &edit.Session{Stdout: io.Discard, Stderr: io.Discard, Usage: same, FlagError: sameFlag}
	cmd.AddCommand(s.Commands(cmd)...)
	cmd.SetArgs(append([]string{"-C", dir}, args...))
	return cmd.Execute()
}

// meaning returns the meaning of a file as JSON. It ignores changes that kustomize makes on
// reading, and changes that a build makes in any case: the options of all generators are copied
// into each of them. It also ignores the order of literals set by kustomize, which is random.
func (c comparison) meaning(text []byte) (string, error) {
	var k types.Kustomization
	if err := k.Unmarshal(text); err != nil {
		return "", err
	}
	k.FixKustomization()
	for i := range k.ConfigMapGenerator {
		c.normalise(&k.ConfigMapGenerator[i].GeneratorArgs, k.GeneratorOptions)
	}
	for i := range k.SecretGenerator {
		c.normalise(&k.SecretGenerator[i].GeneratorArgs, k.GeneratorOptions)
	}
	if c.args[0] == "set" && !chained(k.Images) {
		slices.SortFunc(k.Images, func(a, b types.Image) int { return strings.Compare(a.Name, b.Name) })
	}
	if c.args[0] == "set" {
		slices.SortFunc(k.Replicas, func(a, b types.Replica) int { return strings.Compare(a.Name, b.Name) })
	}
	b, err := json.MarshalIndent(k, "", " ")
	return absorbed.ReplaceAllString(string(b), `"`), err
}

// absorbed matches, in JSON, the lines that kustomize moves into a text with blank lines at its
// end: these blank lines, and comments from elsewhere in the file.
var absorbed = regexp.MustCompile(`(\\n *(# (comment|behind) \d+|# c)?)+"`)

func (c comparison) normalise(args *types.GeneratorArgs, options *types.GeneratorOptions) {
	args.Options = types.MergeGlobalOptionsIntoLocal(args.Options, options)
	if args.Options != nil && len(args.Options.Labels) == 0 && len(args.Options.Annotations) == 0 && !args.Options.DisableNameSuffixHash &&
		!args.Options.Immutable {
		args.Options = nil
	}
	if c.args[0] == "set" {
		slices.Sort(args.LiteralSources)
	}
}

// chained reports whether one entry of images changes the result of another entry.
func chained(images []types.Image) bool {
	for _, a := range images {
		for _, b := range images {
			if a.NewName == b.Name && a != b {
				return true
			}
		}
	}
	return false
}

// about maps each edit to the fields that it may change.
var about = map[string][]string{
	"annotation": {"commonAnnotations"}, "base": {"resources", "bases"}, "buildmetadata": {"buildMetadata"}, "component": {"components"},
	"configmap": {"configMapGenerator"}, "configuration": {"configurations"}, "generator": {"generators"},
	"label": {"commonLabels", "labels"},
	"patch": {"patches"}, "resource": {"resources", "bases"}, "secret": {"secretGenerator"}, "transformer": {"transformers"},
	"image":      {"images", "imageTags"},
	"nameprefix": {"namePrefix"}, "namesuffix": {"nameSuffix"}, "namespace": {"namespace"}, "replicas": {"replicas"},
}

var topLevel = regexp.MustCompile(`^["']?([A-Za-z0-9]+)["']?[ ]*:`)

// checkLines checks that lines are removed only from the fields that the edit concerns, that line
// endings are kept, and that edits that add or set something keep all comments.
func (c comparison) checkLines(got string) error {
	if c.args[0] == "fix" || strings.Contains(c.text, "{resources: [a.yaml], namespace: x") {
		return nil
	}
	if strings.Contains(c.text, "\r\n") && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
		return fmt.Errorf("line ends were changed")
	}
	if c.text != "" && got != "" && strings.HasSuffix(c.text, "\n") != strings.HasSuffix(got, "\n") && !strings.Contains(got, "|") {
		return fmt.Errorf("the end of the last line was changed")
	}
	fields := about[c.args[1]]
	var names []string // the field of each line
	field := ""
	for line := range strings.Lines(c.text) {
		if m := topLevel.FindStringSubmatch(strings.TrimPrefix(line, "\ufeff")); m != nil {
			field = m[1]
		}
		names = append(names, field)
	}
	for i := len(names) - 2; i >= 0; i-- { // comments may belong to the field below
		if line := strings.Split(c.text, "\n")[i]; strings.HasPrefix(line, "#") {
			names[i] = names[i+1]
		}
	}
	at := -1 // the diff's header has one line that looks like a removed line
	for line := range strings.Lines(string(diff.Diff("a", []byte(c.text), "b", []byte(got)))) {
		if _, err := fmt.Sscanf(line, "@@ -%d", &at); err == nil {
			at--
			continue
		}
		if line[0] == ' ' || line[0] == '-' {
			at++
		}
		trimmed := strings.TrimSpace(line[1:])
		switch {
		case line[0] != '-' || at == 0 || trimmed == "" || trimmed == "{}" || strings.HasPrefix(trimmed, "null"):
		case strings.Contains(trimmed, "*l"): // the alias is expanded
		case strings.HasPrefix(trimmed, "#") && c.args[0] == "remove": // the comment above the field
		// it got a line break
		case !strings.HasSuffix(c.text, "\n") && (at == len(names) || strings.HasSuffix(strings.TrimSuffix(trimmed, "+"), "|")):
		// the diff treats it as moved
		case strings.Count(got, strings.TrimRight(line[1:], "\r\n")) >= strings.Count(c.text, strings.TrimRight(line[1:], "\r\n")):
		case !slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, names[at-1]) }):
			return fmt.Errorf("line %d, %q of field %s, is gone", at, trimmed, names[at-1])
		}
	}
	if c.args[0] != "remove" && c.args[1] != "buildmetadata" && c.args[len(c.args)-1] != "" {
		var kept strings.Builder // fields that do not move
		for i, line := range slices.Collect(strings.Lines(c.text)) {
			// of entries with the same name, one stays
			if !strings.EqualFold(names[i], "bases") && !strings.EqualFold(names[i], "imageTags") && c.args[1] != "image" &&
				c.args[1] != "replicas" {
				kept.WriteString(line)
			}
		}
		was, is := comments(kept.String()), comments(got)
		for text, n := range was {
			if is[text] < n {
				return fmt.Errorf("the comment %q is gone", text)
			}
		}
	}
	return nil
}

var comment = regexp.MustCompile(`# (comment|behind) \d+`)

func comments(text string) map[string]int {
	counts := map[string]int{}
	for _, m := range comment.FindAllString(text, -1) {
		counts[m]++
	}
	return counts
}

// isKnown reports whether docs/differences.md documents the difference.
func (c comparison) isKnown() bool {
	keepsReplacements := slices.Contains(c.args, "--vars") && strings.Contains(strings.ToLower(c.text), "replacements") &&
		strings.Contains(strings.ToLower(c.text), "vars")
	return keepsReplacements
}
