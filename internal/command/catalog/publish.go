package catalog

import (
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/catalog/publish"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// PublishCommand returns the command that publishes catalogs.
func PublishCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "catalog", Short: "Publish catalogs"}
	publish := &cobra.Command{
		Use:   "publish FILE oci://REGISTRY/REPOSITORY:TAG",
		Short: "Put a catalog and its programs into a registry",
		Long: `Put a catalog into a registry, and into the same repository each program that it names by a path. The catalog there names these programs
by their digests. If a program is missing or is not what its sha256 says, nothing is put there. What is printed is the reference with the
digest, and the flag that trusts it.`,
		Example: "  krmflow catalog publish catalog.yaml oci://ghcr.io/example/catalog:v1",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return options.UsageError(fmt.Errorf("%s needs a file and an oci:// reference", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return publishCatalog(a, cmd, args[0], args[1]) },
	}
	a.SourceFlags.Register(publish)
	cmd.AddCommand(publish)
	return cmd
}

func publishCatalog(a *cli.Invocation, cmd *cobra.Command, file, place string) error {
	if err := a.SourceFlags.Validate(); err != nil {
		return err
	}
	to, err := options.ParseRef("place", place)
	switch {
	case err != nil:
		return err
	case to.Scheme != catalog.OCI || !to.Pin.IsZero():
		return options.UsageError(errors.New("a catalog must be published at oci://REGISTRY/REPOSITORY:TAG"))
	}
	c, err := readCatalog(cmd.Context(), a, file)
	switch {
	case err != nil:
		return err
	case c.Ref.Remote():
		return options.UsageError(errors.New("only a local file can be published"))
	}
	s := remote.NewSession(a.Fetching().Options)
	defer s.Close()
	if to, err = publish.Catalog(cmd.Context(), s, c.Catalog, to, a.MaxFetch); err != nil {
		return err
	}
	return a.Print(fmt.Sprintf("%s\nto trust it add %s=%[1]s\n", to, trust.FlagTrust))
}
