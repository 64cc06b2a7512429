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

// Command returns the catalog command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "catalog", Short: "Show, check, write and publish catalogs"}
	cmd.AddCommand(ShowCommand(a, "show"), lintCommand(a, "lint"), GenerateCommand(a, "generate"), digestCommand(a), addProgramCommand(a),
		publishCommand(a))
	return cmd
}

func publishCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "publish FILE oci://REGISTRY/REPOSITORY:TAG",
		Short: "Publish a catalog and its programs to a registry",
		Long: `Publish a catalog to a registry, and each program that it names by a path to the same repository. The published catalog names these
programs by their digests. If a program is missing or does not match its sha256, nothing is published.

The command prints the reference of the catalog with its digest, and the flag that trusts it.`,
		Example: "  krmflow catalog publish catalog.yaml oci://ghcr.io/example/catalog:v1",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return options.UsageError(fmt.Errorf("%s needs a catalog file and a reference oci://REGISTRY/REPOSITORY:TAG", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return publishCatalog(a, cmd, args[0], args[1]) },
	}
	a.SourceFlags.Register(cmd)
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
		return options.UsageError(errors.New("only a catalog file can be published"))
	}
	s := remote.NewSession(a.Fetching().Options)
	defer s.Close()
	if to, err = publish.Catalog(cmd.Context(), s, c.Catalog, to, int64(a.MaxFetch)); err != nil {
		return err
	}
	return a.Print(fmt.Sprintf("%s\nto trust it add %s=%[1]s\n", to, trust.FlagTrust))
}
