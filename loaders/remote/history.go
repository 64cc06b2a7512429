package remote

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/reference"
)

// maxHistory is the number of commits that are fetched in order to find those between two
// commits.
const maxHistory = 100

// History returns the subjects of the commits of a repository after old, up to and including now,
// newest first. It fails if old is not among the last commits before now. If the server supports
// filters, only commits are fetched, without files.
func (s *Session) History(ctx context.Context, r reference.Reference, old, now string, from Origin) ([]string, error) {
	if err := s.allow(r, from); err != nil {
		return nil, err
	}
	return s.histories.Do(ctx, key(r, from)+"\n"+old+"\n"+now, func() (subjects []string, err error) {
		if s.opt.Offline {
			return nil, &OfflineError{Reference: r.String()}
		}
		err = s.bounded(ctx, r, Asking, func(ctx context.Context) error {
			subjects, err = s.fetchHistory(ctx, r, old, now, from)
			return explainGit(wrap(r, err))
		})
		return subjects, err
	})
}

func (s *Session) fetchHistory(ctx context.Context, r reference.Reference, old, now string, from Origin) ([]string, error) {
	dir, err := s.opt.Cache.TempDir()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	g, err := s.git(ctx, r, from)
	if err != nil {
		return nil, err
	}
	if err := g.init(dir, now); err != nil {
		return nil, err
	}
	limits := cache.Limits{Bytes: s.opt.MaxBytes} // commits are small; limits servers without support for filters
	if err := g.fetch(ctx, r, now, limits, fmt.Sprintf("--depth=%d", maxHistory), "--filter=tree:0"); err != nil {
		return nil, err
	}
	all, err := g.Run(ctx, "rev-list", now)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(strings.Fields(string(all)), old) { // git would otherwise ask the server for it
		return nil, fmt.Errorf("%s is not among the last %d commits before %s", old, maxHistory, now)
	}
	out, err := g.Run(ctx, "rev-list", "--format=%x00%s", old+".."+now) // the user's configuration changes the output of git log
	if err != nil {
		return nil, err
	}
	var subjects []string
	for line := range strings.Lines(string(out)) {
		if subject, ok := strings.CutPrefix(line, "\x00"); ok {
			subjects = append(subjects, strings.TrimSpace(subject))
		}
	}
	return subjects, nil
}
