package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A table is a table in the text of a report. A table without rows is not written.
type table struct {
	title, header string // tab-separated
	rows          []string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, strings.Join(cells, "\t")) }

func (t *table) write(w io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", t.title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range append([]string{t.header}, t.rows...) {
		fmt.Fprintln(tw, line+"\t")
	}
	tw.Flush()
}

// cpu returns the table of CPU times, with the ratio of kustomize's time to krmflow's.
func (r *Report) cpu() table {
	t := table{title: "CPU time, and how many times as much kustomize takes",
		header: "tree\tresources\tkustomize\tno cache\t\tempty cache\t\tfilled cache\t\toutput"}
	for _, row := range r.Rows {
		if row.Error != "" {
			t.add(row.Title, "", "", "", "", "", "", "", "", "FAILED")
			continue
		}
		theirs, same := row.Kustomize, "-"
		if row.Same {
			same = "same"
		}
		t.add(row.Title, fmt.Sprint(row.Resources), theirs.cpu(), row.Krmflow.cpu(), row.Krmflow.ratio(theirs), row.Cold.cpu(),
			row.Cold.ratio(theirs),
			row.Warm.cpu(), row.Warm.ratio(theirs), same)
	}
	return t
}

// folders returns the table of CPU times for trees that are rendered to folders, which includes
// builds after the change of one file.
func (r *Report) folders() table {
	t := table{title: "CPU time of folders, once more after a change of one file",
		header: "tree\troots\tkustomize\tempty cache\t\tunchanged\t\tone file changed\t"}
	for _, row := range r.Rows {
		if row.Changed != nil && row.Error == "" {
			theirs := row.Kustomize
			t.add(row.Title, fmt.Sprint(row.Roots), theirs.cpu(), row.Cold.cpu(), row.Cold.ratio(theirs), row.Warm.cpu(),
				row.Warm.ratio(theirs), row.Changed.cpu(), row.Changed.ratio(theirs))
		}
	}
	return t
}

func (r *Report) wall() table {
	t := table{title: "Wall time", header: "tree\tkustomize\tno cache\tempty cache\tfilled cache\tone file changed"}
	r.each(&t, (*Figure).wall)
	return t
}

func (r *Report) peak() table {
	t := table{title: "Peak memory", header: "tree\tkustomize\tno cache\tempty cache\tfilled cache\tone file changed"}
	r.each(&t, (*Figure).peak)
	return t
}

// each adds a row for each tree with one figure per mode.
func (r *Report) each(t *table, of func(*Figure) string) {
	for _, row := range r.Rows {
		if row.Error == "" {
			t.add(row.Title, of(row.Kustomize), of(row.Krmflow), of(row.Cold), of(row.Warm), of(row.Changed))
		}
	}
}

// none is the cell of a missing measurement.
const none = "-"

func (f *Figure) cpu() string {
	if f == nil {
		return none
	}
	return seconds(f.CPU)
}

func (f *Figure) wall() string {
	if f == nil {
		return none
	}
	return seconds(f.Wall)
}

func (f *Figure) peak() string {
	if f == nil {
		return none
	}
	s := fmt.Sprintf("%.0f MB", float64(f.Peak)/(1<<20))
	if f.PeakFloor {
		s = "≤ " + s
	}
	return s
}

// ratio returns the CPU time of theirs divided by the CPU time of f.
func (f *Figure) ratio(theirs *Figure) string {
	if f == nil || theirs == nil {
		return ""
	}
	return times(theirs.CPU, f.CPU)
}
