package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/remote/internal/address"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/reference"
)

// ChartLayer is the media type of the layer with a Helm chart.
const ChartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// openChart returns the files of a chart. Its version is the digest of the archive.
func (s *Session) openChart(ctx context.Context, r reference.Reference, from Origin) (*Content, error) {
	d, err := s.chartDigest(ctx, r, from)
	if err != nil {
		return nil, err
	}
	unpacked := func(ctx context.Context) (*cache.Tree, error) {
		data, err := s.opt.Cache.Get(d)
		if err != nil {
			if _, err = s.fetchChart(ctx, r, from); err == nil {
				data, err = s.opt.Cache.Get(d)
			}
		}
		if err != nil {
			return nil, err
		}
		tree, err := s.Unpack(data)
		if err != nil {
			return nil, wrap(r, err)
		}
		return tree, s.opt.Cache.Record("archive", d.String(), tree.Digest)
	}
	tree, err := s.tree("archive", d.String())
	if err != nil {
		if tree, err = unpacked(ctx); err != nil {
			return nil, err
		}
	}
	later := context.WithoutCancel(ctx)
	tree.Restore = func() error { _, err := unpacked(later); return err }
	return &Content{Version: reference.Version{Scheme: reference.Helm, Digest: d}, Tree: tree}, nil
}

// chartDigest returns the digest of a chart's archive and ensures that the archive is in the
// cache. An exact version is not expected to change, so offline the digest recorded earlier is
// used.
func (s *Session) chartDigest(ctx context.Context, r reference.Reference, from Origin) (krm.Digest, error) {
	name := r
	name.Pin = krm.Digest{}
	d := r.Pin
	if d.IsZero() && s.opt.Offline && reference.IsExactVersion(r.Ref) {
		d, _ = s.opt.Cache.Lookup("chart", name.Location+"\n"+name.String())
	}
	if !d.IsZero() {
		if _, err := s.opt.Cache.Get(d); err == nil {
			return d, nil
		}
	}
	if s.opt.Offline {
		return d, &OfflineError{Reference: r.String()}
	}
	v, err := s.remembered(ctx, r, from, func() (v reference.Version, err error) {
		v.Digest, err = s.fetchChart(ctx, r, from)
		return v, err
	})
	if err != nil {
		return v.Digest, err
	}
	return v.Digest, s.opt.Cache.Record("chart", name.Location+"\n"+name.String(), v.Digest)
}

// fetchChart fetches the archive of a chart into the cache.
func (s *Session) fetchChart(ctx context.Context, r reference.Reference, from Origin) (d krm.Digest, err error) {
	if strings.HasPrefix(r.Location, "oci://") {
		d, err = s.fetchChartOCI(ctx, r, from)
	} else {
		d, err = s.fetchChartHTTP(ctx, r, from)
	}
	if err == nil && !r.Pin.IsZero() && d != r.Pin {
		err = mismatch(r, r.Pin, d)
	}
	return d, err
}

// fetchChartHTTP fetches a chart from a chart repository with an index.
func (s *Session) fetchChartHTTP(ctx context.Context, r reference.Reference, from Origin) (krm.Digest, error) {
	index := reference.Reference{Scheme: reference.HTTPS, Location: r.Location + "/index.yaml"}
	c, err := s.Open(ctx, index, from)
	if err != nil {
		return krm.Digest{}, err
	}
	src := &yaml.Source{File: index.String(), Data: c.data}
	v, err := src.Value()
	if err != nil {
		return krm.Digest{}, wrap(r, err)
	}
	archive, err := r.InIndex(v)
	if err != nil {
		return krm.Digest{}, wrap(r, err)
	}
	if c, err = s.Open(ctx, archive, from); err != nil {
		return krm.Digest{}, err
	}
	return c.Version.Digest, nil
}

// fetchChartOCI fetches a chart from a registry, where versions are tags.
func (s *Session) fetchChartOCI(ctx context.Context, r reference.Reference, from Origin) (d krm.Digest, err error) {
	artifact := reference.Reference{Scheme: reference.OCI, Location: strings.TrimPrefix(r.Location, "oci://") + "/" + r.Path, Timeout: r.Timeout}
	version := r.Ref
	if !reference.IsExactVersion(version) {
		if version, err = s.lastTag(ctx, r, artifact, from); err != nil {
			return d, err
		}
	}
	artifact.Ref = strings.ReplaceAll(version, "+", "_") // tags cannot contain a plus
	v, err := s.Resolve(ctx, artifact, from)
	if err != nil {
		return d, err
	}
	return s.charts.Do(ctx, fmt.Sprintf("%d %s %s", from, artifact.Location, v), func() (krm.Digest, error) {
		layer, err := s.chartLayer(v.Digest)
		if err != nil {
			if err := s.fetchOCI(ctx, artifact, v, from); err != nil {
				return d, err
			}
			layer, err = s.chartLayer(v.Digest)
		}
		return layer, wrap(r, err)
	})
}

// chartLayer returns the digest of the layer with the chart. The manifest and the layer must be
// in the cache.
func (s *Session) chartLayer(manifest krm.Digest) (krm.Digest, error) {
	data, err := s.opt.Cache.Get(manifest)
	if err != nil {
		return krm.Digest{}, err
	}
	m, err := artifact.Parse(data)
	if err != nil {
		return krm.Digest{}, err
	}
	for _, layer := range m.Layers {
		if layer.MediaType == ChartLayer {
			_, err := s.layer(layer)
			if err != nil {
				return krm.Digest{}, err
			}
			return layer.Sum()
		}
	}
	return krm.Digest{}, errors.New("the artifact is not a chart: none of its layers is " + ChartLayer)
}

// lastTag returns the latest version of a chart in a registry that is in the version range of r.
func (s *Session) lastTag(ctx context.Context, r, artifact reference.Reference, from Origin) (string, error) {
	tags, err := s.tags.Do(ctx, fmt.Sprintf("%d %s", from, artifact.Location), func() (tags []string, err error) {
		err = s.bounded(ctx, r, Asking, func(ctx context.Context) error {
			return s.registry(artifact, from, func(reg *registry) error {
				tags, err = reg.tags(ctx)
				return err
			})
		})
		return tags, err
	})
	if err != nil {
		return "", err
	}
	version, err := r.ChartVersion(tags)
	return version, wrap(r, err)
}

// maxTags is the limit for the tags of a repository when looking for a version.
const maxTags = 100_000

// tags returns the chart versions of all tags of a repository. It reads all pages of the list.
func (reg *registry) tags(ctx context.Context) (all []string, err error) {
	for path := "tags/list"; ; {
		data, header, err := reg.get(ctx, path)
		if err != nil {
			return nil, err
		}
		var list struct{ Tags []string }
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("cannot read the list of tags: %w", err)
		}
		for _, tag := range list.Tags {
			all = append(all, strings.ReplaceAll(tag, "_", "+"))
		}
		next := address.NextPage(header.Values("Link"))
		if next == "" || len(list.Tags) == 0 {
			return all, nil
		}
		if len(all) > maxTags {
			return nil, diag.Limitf("there are more than %s",
				diag.Count(maxTags, "tag")).Hint("use an exact version, which does not need the list of tags")
		}
		path = "tags/list?" + next
	}
}
