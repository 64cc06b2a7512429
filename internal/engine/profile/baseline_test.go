package profile_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/engine/profile"
)

// reported returns a report in which runs and one step took about these times.
func reported(wall, step int64, apart int64) *profile.Report {
	s := func(n int64) profile.Spread { return profile.Spread{Median: n, Min: n - apart/2, Max: n + apart/2} }
	runs := s(step)
	p := &profile.Profile{Jobs: 1, Stages: []profile.Stage{{Name: profile.Running, Wall: time.Duration(wall)}},
		Steps: []profile.Step{{ID: "k#namePrefix", Verb: "transform", Self: time.Duration(step), End: time.Duration(step), Runs: &runs}}}
	series := profile.Series{Runs: 3, Wall: s(wall), CPU: s(wall), Stages: []profile.Phase{{Name: profile.Running, Wall: s(wall)}}}
	return &profile.Report{Dirs: []string{"k"}, Cold: series, Warm: series, Profile: p, Analysis: profile.Analyse(p)}
}

// A change is significant if it is larger than the noise of both reports.
func TestCompareIgnoresNoise(t *testing.T) {
	for _, row := range []struct {
		old, now *profile.Report
		want     string
	}{
		{reported(1000e6, 100e6, 10e6), reported(500e6, 50e6, 10e6), "better"},
		{reported(500e6, 50e6, 10e6), reported(1000e6, 100e6, 10e6), "worse"},
		{reported(500e6, 50e6, 10e6), reported(505e6, 55e6, 10e6), "noise"},
		{reported(500e6, 100e6, 10e6), reported(1000e6, 200e6, 800e6), "noise"},
		{reported(500e6, 50e6, 0), reported(500e6, 50e6, 0), "noise"},
	} {
		c := profile.Compare(row.old, row.now)
		for _, x := range [][]profile.Change{c.Cold, c.Warm, c.Steps} {
			for _, change := range x {
				if change.Says != row.want {
					t.Errorf("%+v, want %s", change, row.want)
				}
			}
		}
		if len(c.Steps) != 1 || len(c.Cold) != 3 {
			t.Errorf("%+v", c)
		}
	}
	old, now := reported(500e6, 50e6, 10e6), reported(1000e6, 100e6, 10e6)
	now.Cold.Runs = 1
	if c := profile.Compare(old, now); c.Cold[0].Says != "unknown" || c.Cold[0].Percent() != "+100 %" {
		t.Errorf("with one run: %+v", c.Cold[0])
	}
	now.Profile.Steps[0].ID = "k#nameSuffix"
	c := profile.Compare(old, now)
	if len(c.Steps) != 2 || c.Steps[0].Percent() != "new" || c.Steps[1].Percent() != "gone" {
		t.Errorf("%+v", c.Steps)
	}
}

// Reports of earlier versions have the time of functions in early_ns.
func TestReportOfEarlierVersion(t *testing.T) {
	text := `{"cold":{"runs":1},"profile":{"jobs":4,"steps":[{"id":"k#generators[0]","self_ns":1000,"early_ns":5000,"answered_ns":7000}]}}`
	old, err := profile.ReadReport(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	now := &profile.Report{Profile: &profile.Profile{Jobs: 4,
		Calls: 4, Steps: []profile.Step{{ID: "k#generators[0]", Self: 6000, Answered: 7000}}}}
	for _, c := range profile.Compare(old, now).Steps {
		if c.Old != c.New {
			t.Errorf("%+v", c)
		}
	}
	if a, b := profile.Analyse(old.Profile), profile.Analyse(now.Profile); a.Least != b.Least || a.Work != b.Work {
		t.Errorf("%v and %v", a, b)
	}
}

// The JSON form of a report is a valid baseline, and other JSON is not. The text form shows the old
// and new values and their meaning.
func TestReportForms(t *testing.T) {
	r := reported(500e6, 50e6, 10e6)
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	old, err := profile.ReadReport(&b)
	if err != nil {
		t.Fatal(err)
	}
	r = reported(1000e6, 100e6, 10e6)
	r.Changes = profile.Compare(old, r)
	b.Reset()
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"k: 0 roots, 1 step\n", "100 ms  5.00 ms       0  0 B  0 B  100 ms  transform k#namePrefix\n",
		"500 ms  1.00 s  +100 %  10.0 ms  worse  wall\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for _, text := range []string{"", "{}", `{"rows":[]}`, `{"cold":{"runs":1},"profile":{"steps":[{"before":[7]}]}}`} {
		if _, err := profile.ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a report", text)
		}
	}
}
