package exec

import (
	"slices"
	"testing"
)

func TestLastOfEach(t *testing.T) {
	env := []string{"PATH=/bin", "HOME=/a", "PATH=/opt", "X", "HOME=", "EMPTY="}
	want := []string{"PATH=/opt", "X", "HOME=", "EMPTY="}
	if got := lastOfEach(env); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
