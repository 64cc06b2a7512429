package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/krm"
)

func TestOutputAbort(t *testing.T) {
	top := t.TempDir()
	o, err := Open(filepath.Join(top, "a", "b", "out"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Put("x", krm.NewList(configMap("x", "1"))); err != nil {
		t.Fatal(err)
	}
	o.Abort()
	o.Abort()
	wantNames(t, top)
}

func TestOutputSweepsLeftovers(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "out")
	write(t, filepath.Join(top, "out.krmflow-0123456789abcdef", "x"), "")
	write(t, filepath.Join(top, "out.krmflow-backup", "mine"), "")
	write(t, filepath.Join(top, "out.krmflow-lock"), "1")
	writeOut(t, out, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"))})
	wantNames(t, top, "out.krmflow-backup/", "out.krmflow-backup/mine", "out/", "out/v1_configmap_x.yaml")
}

func TestOutputLocked(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	first, err := Open(out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(out, Options{Wait: 10 * time.Millisecond})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() ||
		!strings.Contains(err.Error(), fmt.Sprintf("locked by pid %d", os.Getpid())) {
		t.Errorf("second run: %v", err)
	}
	time.AfterFunc(50*time.Millisecond, first.Abort)
	second, err := Open(out, Options{})
	if err != nil {
		t.Fatalf("waiting run: %v", err)
	}
	second.Abort()
}
