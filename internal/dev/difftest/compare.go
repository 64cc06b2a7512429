package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// programs holds the programs to compare and the folder for the current tree.
type programs struct{ kustomize, krmflow, dir string }

// An answer is the result of one program for a tree.
type answer struct {
	stdout, stderr string
	failed         bool
	crashed        bool // a panic or a timeout
}

// A pair holds the answers of both programs.
type pair struct{ kustomize, krmflow answer }

func (p *programs) run(t tree) (pair, error) {
	if err := t.write(p.dir); err != nil {
		return pair{}, err
	}
	var both pair
	done := make(chan error)
	go func() {
		var err error
		both.kustomize, err = build(p.kustomize, p.dir)
		done <- err
	}()
	var err error
	both.krmflow, err = build(p.krmflow, p.dir)
	return both, errors.Join(err, <-done)
}

func build(program, dir string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "build", dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	a := answer{stdout: stdout.String(), stderr: stderr.String(), failed: err != nil}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return a, err
	}
	a.crashed = strings.Contains(a.stderr, "goroutine ") || a.failed && exit.ExitCode() < 0 || a.failed && exit.ExitCode() == 70
	return a, nil
}

// difference returns a description of the kind of difference between the answers, or "" for
// none. It is not a difference if both programs fail or if kustomize panics.
func (p pair) difference() string {
	switch {
	case p.krmflow.crashed:
		return "krmflow crashes: " + message(p.krmflow.stderr)
	case p.kustomize.crashed || p.kustomize.failed && p.krmflow.failed:
		return ""
	case p.kustomize.failed:
		return "only kustomize refuses: " + message(p.kustomize.stderr)
	case p.krmflow.failed:
		return "only krmflow refuses: " + message(p.krmflow.stderr)
	case p.kustomize.stdout == p.krmflow.stdout:
		return ""
	}
	return "output: " + firstDifference(p.kustomize.stdout, p.krmflow.stdout)
}

var (
	quotedText = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|'[^']*'|\\{.*\\}|\\[.*\\]")
	aPath      = regexp.MustCompile(`\S*/\S*|\S*\.yaml\S*`)
	aNumber    = regexp.MustCompile(`[0-9]+`)
	aBlank     = regexp.MustCompile(`\s+`)
)

// message returns an error message without the names and paths of the tree, so that similar
// errors are equal.
func message(stderr string) string {
	_, text, _ := strings.Cut(stderr, "Error: ")
	text = aBlank.ReplaceAllString(text, " ")
	for _, re := range []*regexp.Regexp{quotedText, aPath, aNumber} {
		text = re.ReplaceAllString(text, "_")
	}
	if words := strings.Fields(text); len(words) > 14 {
		text = strings.Join(words[len(words)-14:], " ")
	}
	return text
}

// firstDifference describes the first line that differs by its field and the types of the
// values.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	lineOf := func(lines []string) string {
		if i < len(lines) {
			return lines[i]
		}
		return ""
	}
	one, two := lineOf(x), lineOf(y)
	if keyOf(one) != keyOf(two) {
		return place(x[:min(i, len(x))], one) + ": other fields"
	}
	return place(x[:i], one) + ": " + form(one) + " became " + form(two)
}

func keyOf(line string) string {
	key, _, found := strings.Cut(line, ": ")
	if !found {
		return strings.TrimSuffix(line, ":")
	}
	return key
}

// place returns the names of the first two levels of fields around line.
func place(before []string, line string) string {
	var names []string
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	for i := len(before) - 1; i >= 0 && indent > 0; i-- {
		if n := len(before[i]) - len(strings.TrimLeft(before[i], " -")); n < indent && strings.Contains(before[i], ":") {
			indent = n
			names = append([]string{strings.Trim(keyOf(before[i]), " -")}, names...)
		}
		if before[i] == "---" {
			break
		}
	}
	if indent == 0 && len(names) == 0 {
		return strings.Trim(keyOf(line), " -")
	}
	if len(names) > 2 {
		names = names[:2]
	}
	return strings.Join(names, ".")
}

// form returns the type of the value on a line.
func form(line string) string {
	value := line
	if _, rest, ok := strings.Cut(line, ": "); ok {
		value = rest
	}
	value = strings.TrimPrefix(strings.TrimSpace(value), "- ")
	switch {
	case value == "null" || value == `""` || value == "{}" || value == "[]":
		return value
	case value == "true" || value == "false":
		return "a boolean"
	case strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'"):
		return "a quoted text"
	case strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">"):
		return "a block"
	case strings.HasSuffix(value, ":"):
		return "fields"
	case aNumber.MatchString(value) && strings.Trim(value, "+-0123456789.e") == "":
		return "a number"
	case value == "":
		return "nothing"
	}
	return "a text"
}
