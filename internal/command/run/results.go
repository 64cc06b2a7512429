package run

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

// said is the report of a function.
type said struct {
	node    *graph.Node
	failed  bool
	results []function.Result
}

// listen returns a function that records the reports of functions and passes them to next.
func (c *command) listen(next func(scheduler.CallReport)) func(scheduler.CallReport) {
	var mu sync.Mutex
	return func(r scheduler.CallReport) {
		mu.Lock()
		c.said = append(c.said, said{r.Node, r.Failed, r.Results})
		mu.Unlock()
		next(r)
	}
}

// A resultList is the report of one function in the format of kpt.
type resultList struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	ExitCode   int               `json:"exitCode"`
	Items      []resultItem      `json:"items"`
}

type resultItem struct {
	Image    string            `json:"image,omitempty"`
	Exec     string            `json:"exec,omitempty"`
	ExitCode int               `json:"exitCode"`
	Results  []function.Result `json:"results,omitempty"`
}

// writeResults writes a file for each function that ran (IM-15), and removes the files of
// earlier runs.
func (c *command) writeResults(plan *planner.Plan) error {
	if c.results == "" {
		return nil
	}
	if err := os.MkdirAll(c.results, 0o777); err != nil {
		return err
	}
	old, err := fs.Glob(os.DirFS(c.results), "results-*.yaml") // os.DirFS, so that the folder name is not a pattern
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(c.results, name)); err != nil {
			return err
		}
	}
	for i, s := range c.said {
		call := s.node.Op.(graph.Call)
		item := resultItem{Results: s.results}
		source := plan.Decisions[s.node.ID].Source
		if call.Function.Runtime == function.RuntimeContainer {
			item.Image = source
		} else {
			item.Exec = source
		}
		if s.failed {
			item.ExitCode = 1
		}
		list := resultList{"kpt.dev/v1", "FunctionResultList", map[string]string{"name": s.node.ID}, item.ExitCode, []resultItem{item}}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		v, err := (&yaml.Source{File: "results", Data: text}).Content()
		if err != nil {
			return err
		}
		file := filepath.Join(c.results, fmt.Sprintf("results-%d.yaml", i))
		if err := output.WriteFileAtomic(file, yaml.AppendYAML(nil, v), 0o666); err != nil {
			return err
		}
	}
	return nil
}
