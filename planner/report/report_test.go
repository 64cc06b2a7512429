package report

import (
	"errors"
	"fmt"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

var file = &yaml.Source{File: "d/kustomization.yaml", Data: []byte("a: 1\nb:\n- x\n- y\n")}

func TestWarningsAreToldOnce(t *testing.T) {
	var w Warnings
	r := Reporter{Warnings: &w}
	for i := range maxWarnings + 5 {
		r.Warn(diag.Deprecated, file, []any{"b", 1}, "twice")
		r.Warn(diag.Deprecated, file, []any{"a"}, "number %d", i)
	}
	all, more := w.All()
	if len(all) != maxWarnings || all[0].Error() != "d/kustomization.yaml:4: b[1]: twice" {
		t.Errorf("%d warnings, the first is %v", len(all), all[0])
	}
	if want := 2 * 6; more != want {
		t.Errorf("%d more, want %d", more, want)
	}
}

// TestErrorAt checks that each of several joined errors gets a position, and that an existing
// position is kept.
func TestErrorAt(t *testing.T) {
	var r Reporter
	elsewhere := diag.Errorf(diag.Pos{File: "e.yaml", Line: 7}, "", "there")
	r.ErrorAt(file, []any{"b", 0}, errors.Join(errors.New("here"), errors.Join(elsewhere)))
	if got, want := fmt.Sprint(r.Errs.Errors()), "[d/kustomization.yaml:3: b[0]: here e.yaml:7: there]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.ErrorLater(file, nil, func() error { return errors.New("late") })
	for range diag.MaxMistakes {
		r.ErrorAt(file, nil, errors.New("more"))
	}
	r.ErrorLater(file, nil, func() error {
		t.Error("the text of an error is made that nobody reads")
		return nil
	})
	if n := r.Errs.Len(); n != diag.MaxMistakes+4 {
		t.Errorf("%d mistakes", n)
	}
}
