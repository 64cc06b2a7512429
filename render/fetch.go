package render

import (
	"context"
	"errors"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
)

// Fetch concurrently fetches the programs of a plan's functions into the cache and verifies them
// as [Run] does with the same options. It executes nothing. It skips denied functions, and
// images, which are not in this cache.
func Fetch(ctx context.Context, plan *planner.Plan, o Options) (found []loaders.Fetched, err error) {
	defer recovered(&err)
	if o.Sources == nil {
		return nil, nil
	}
	fetched, end := o.sources().programs()
	defer end()
	var errs []error
	var mu sync.Mutex
	var all sync.WaitGroup
	asked := map[string]bool{}
	for call, n := range plan.Graph.Calls() {
		f := call.Function
		key := f.URI + "\x00" + f.Program + "\x00" + f.Digest.String()
		if dec := plan.Decisions[n.ID]; f.URI == "" || asked[key] || dec == nil || !dec.Allowed {
			continue
		}
		asked[key] = true
		found = append(found, loaders.Fetched{Reference: diag.Redact(f.URI), Version: f.Digest.String(), Pinned: true})
		all.Go(func() {
			var err error
			func() {
				defer recovered(&err)
				_, err = fetched.local(ctx, f)
			}()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	return found, errors.Join(errs...)
}
