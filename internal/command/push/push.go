// Package push implements the push command. It stores a folder in a registry as an artifact for
// Flux.
package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/reference"
	"github.com/spf13/cobra"
)

// The media types of Flux.
const (
	configType = "application/vnd.cncf.flux.config.v1+json"
	layerType  = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// An origin describes the origin of the content of a folder.
type origin struct {
	source, revision string
	created          time.Time
}

// Command returns the push command.
func Command(a *cli.Invocation) *cobra.Command {
	var given origin
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "push oci://REGISTRY/REPOSITORY:TAG DIR",
		Short: "Push a rendered folder to a registry, for Flux",
		Long: `Store a folder in a registry as the artifact that an OCIRepository of Flux reads, as flux push artifact does. Usually apply-render has written the
folder. The command prints the reference of the artifact with its digest. It uses the credentials of podman login or docker login.

The artifact names its origin: --source, by default the address of the git remote, and --revision, by default BRANCH@sha1:COMMIT, of the repository of
the folder or else of the working directory. Its time is the time of the checked-out commit, or 1970 without a repository. The bytes depend only on these
three values and on the names and contents of the files, so the same folder has the same digest.

As in flux, the artifact has all files and folders, with .krmflow-manifest and other names that begin with a dot, except for .git/, .gitignore,
.gitmodules, .gitattributes, *.jpg, *.jpeg, *.gif, *.png, *.wmv, *.flv, *.tar.gz and *.zip. Links are left out with a warning. All files have the mode
0644. --max-fetch-bytes also limits the size of the folder.`,
		Example: `  krmflow apply-render -R overlays -o rendered/
  krmflow push oci://ghcr.io/example/rendered:main rendered/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return options.UsageError(fmt.Errorf("%s needs a reference oci://REGISTRY/REPOSITORY:TAG and a folder", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return run(a, cmd, args[0], args[1], given, dryRun) },
	}
	a.SourceFlags.Register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&given.source, "source", "", "`ADDRESS` of the origin (default: the git remote)")
	fs.StringVar(&given.revision, "revision", "", "`REVISION` of the origin (default: BRANCH@sha1:COMMIT of git)")
	fs.BoolVar(&dryRun, "dry-run", false, "print the reference with its digest, and send nothing")
	return cmd
}

func run(a *cli.Invocation, cmd *cobra.Command, place, dir string, given origin, dryRun bool) error {
	if err := a.SourceFlags.Validate(); err != nil {
		return err
	}
	for _, flag := range []string{"source", "revision"} {
		if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
			return options.UsageError(fmt.Errorf("--%s must not be empty", flag))
		}
	}
	to, at, err := destination(place, dir)
	if err != nil {
		return err
	}
	from, err := complete(cmd.Context(), given, dir)
	if err != nil {
		return err
	}
	files, err := pack(dir, int64(a.MaxFetch))
	switch {
	case errors.Is(err, errTooLarge):
		return diag.TooLargef(diag.Pos{File: dir}, "", "the folder is larger than %s", diag.Size(int64(a.MaxFetch))).
			Hint("raise --max-fetch-bytes")
	case err != nil:
		return err
	}
	var skipped []*diag.Error
	for _, name := range files.skipped {
		skipped = append(skipped, diag.Errorf(diag.Pos{File: filepath.Join(dir, filepath.FromSlash(name))}, "",
			"neither a file nor a folder, so it is left out"))
	}
	a.WarnBefore(skipped)
	a.StartLog()
	artifact, err := artifactOf(files, from)
	if err != nil {
		return err
	}
	if to.Pin, err = artifact.Digest(); err != nil {
		return err
	}
	if !dryRun {
		s := remote.NewSession(a.Fetching().Options)
		defer s.Close()
		if _, err := s.Push(cmd.Context(), at, artifact); err != nil {
			return err
		}
	}
	return a.Print(to.String() + "\n")
}

// destination parses the reference of an artifact to push. dir is the second argument, for an error
// about exchanged arguments.
func destination(place, dir string) (to catalog.Ref, at reference.Reference, err error) {
	if !strings.HasPrefix(place, "oci://") && strings.HasPrefix(dir, "oci://") {
		return to, at, options.UsageError(errors.New("the first argument is the reference oci://REGISTRY/REPOSITORY:TAG, the second one the folder"))
	}
	to, err = options.ParseRef("reference", place)
	switch {
	case err != nil:
		return to, at, err
	case to.Scheme != catalog.OCI || !to.Pin.IsZero():
		return to, at, options.UsageError(errors.New("a folder can be pushed only to oci://REGISTRY/REPOSITORY:TAG"))
	}
	at, err = reference.Parse(to.Location, reference.File)
	return to, at, err
}

// complete adds defaults to an origin, from the repository of dir or of the working directory.
func complete(ctx context.Context, o origin, dir string) (origin, error) {
	head, err := revision.HeadOf(ctx, dir)
	if err != nil && ctx.Err() == nil {
		if other, wrong := revision.HeadOf(ctx, "."); wrong == nil {
			head, err = other, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return o, context.Cause(ctx)
	case err != nil && o.source != "" && o.revision != "":
		o.created = time.Unix(0, 0).UTC()
		return o, nil
	case err != nil:
		return o, diag.AsError(err).Hint("name the origin of the folder: --source ADDRESS --revision REVISION")
	}
	o.created = head.Time
	o.source = cmp.Or(o.source, withoutCredentials(head.Remote))
	if o.source == "" {
		return o, options.UsageError(errors.New("the repository has no remote origin: name the origin of the folder with --source ADDRESS"))
	}
	if o.revision == "" {
		algorithm := "sha1"
		if len(head.Commit) > 40 {
			algorithm = "sha256"
		}
		o.revision = strings.TrimPrefix(head.Branch+"@"+algorithm+":"+head.Commit, "@")
	}
	return o, nil
}

// withoutCredentials removes the user and password from the address of a remote, because the
// artifact has more readers than the configuration of git. An ssh address without a password keeps
// its user.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User == nil {
		return diag.Redact(address)
	}
	if _, password := u.User.Password(); password || u.Scheme != "ssh" {
		u.User = nil
	}
	return u.String()
}

// artifactOf returns the artifact of a folder.
func artifactOf(files *archive, from origin) (remote.Artifact, error) {
	config, err := json.Marshal(configOf(files.content))
	return remote.Artifact{
		Config: remote.Layer{MediaType: configType, Data: config},
		Annotations: map[string]string{
			"org.opencontainers.image.created":  from.created.Format(time.RFC3339),
			"org.opencontainers.image.source":   from.source,
			"org.opencontainers.image.revision": from.revision,
		},
		Layers: []remote.Layer{{MediaType: layerType, Data: files.packed}},
	}, err
}

// imageConfig is the configuration of an OCI image. Only the digest of the content is set. Flux
// ignores the other fields, but image tools expect them.
type imageConfig struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	Config struct{} `json:"config"`
}

func configOf(content krm.Digest) (c imageConfig) {
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{content.String()}
	return c
}
