package diag

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestPathOfNestedParts(t *testing.T) {
	inner := In(Errorf(Pos{}, "", "problem").Hint("hint"), "fieldPaths", 1)
	err := In(Errorf(Pos{}, "", "targets[0]: %w", inner), "targets", 0)
	if got := PathOf(err); !slices.Equal(got, []any{"targets", 0, "fieldPaths", 1}) {
		t.Errorf("path %v", got)
	}
	if got := err.Error(); got != "targets[0]: problem\n  hint" {
		t.Errorf("text %q", got)
	}
	if got := Below([]any{"replacements", 2}, fmt.Errorf("about: %w", err)); len(got) != 6 || got[1] != 2 {
		t.Errorf("path below an entry %v", got)
	}
	if In(nil, "a") != nil || PathOf(errors.New("problem")) != nil {
		t.Error("no error or no part has a path")
	}
}
