package git

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// Other users can see the arguments of a program, and printed messages even more so.
func TestMessagesHideCredentials(t *testing.T) {
	got := said("fatal: unable to access 'https://me:canary@host/r.git/': x\nhint: y\nremote: see https://canary@host and http://a/b@c.\nfatal: Could not read from remote repository.\n\nPlease make sure\n")
	if want := "unable to access 'https://host/r.git/': x; see https://host and http://a/b@c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An answer is complete or absent.
func TestRunRefusesPartialOutput(t *testing.T) {
	g, err := New()
	if err != nil {
		t.Fatal(err)
	}
	g.Dir = t.TempDir()
	g.Inherit("PATH")
	whole, err := g.Run(t.Context(), "help", "-a")
	if err != nil || len(whole) < 100 {
		t.Fatalf("%q, %v", whole, err)
	}
	size := int64(len(whole))
	if got, err := g.run(t.Context(), size, "help", "-a"); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := g.run(t.Context(), size-1, "help", "-a"); !errors.Is(err, ErrLong) {
		t.Error(err)
	}
	var failed *Error
	if _, err := g.Run(t.Context(), "rev-parse", "HEAD"); !errors.As(err, &failed) ||
		!strings.HasPrefix(failed.Text, "not a git repository") {
		t.Error(err)
	}
	why := errors.New("enough")
	if err := g.Stream(t.Context(), nil, func(io.Reader) error { return why }, "help", "-a"); !errors.Is(err, why) {
		t.Error(err)
	}
}
