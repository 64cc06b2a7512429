package fn

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/command/fn/resourcelist"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func sourceCommand(a *cli.Invocation) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:   "source [DIR...]",
		Short: "Write the resources of directories as a ResourceList",
		Long: `Write a ResourceList with the resources of all YAML and JSON files in the directories and below to stdout, as input for a function. Annotations name the
file of each resource, so that 'krmflow fn sink' can write it back. Comments are kept. Links, files and folders whose names begin with a dot, and documents
that are not resources are skipped.`,
		Example: "  krmflow fn source app | ./my-function | krmflow fn sink out\n  krmflow fn source app --function-config config.yaml > input.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			list := &resourcelist.List{APIVersion: function.ResourceListV1}
			if config != "" {
				found, err := resourcelist.ReadDir(config, resourcelist.Unannotated)
				if err != nil {
					return err
				}
				if len(found) != 1 {
					return diag.Errorf(diag.Pos{File: config}, "", "it must have one resource, but has %d",
						len(found)).With(diag.BadFunction)
				}
				list.Config = found[0]
			}
			from := map[string]string{} // directory of each file
			for _, dir := range args {
				items, err := resourcelist.ReadDir(dir, resourcelist.WithPlaces)
				if err != nil {
					return err
				}
				if err := apart(from, dir, items); err != nil {
					return err
				}
				list.Items = append(list.Items, items...)
			}
			return list.Write(a.Stdout)
		},
	}
	cmd.Flags().StringVar(&config, "function-config", "", "`FILE` with the function configuration")
	return cmd
}

// apart returns an error if two directories contain a file with the same relative path. Writing
// the list back would merge the two files.
func apart(from map[string]string, dir string, items []*yaml.RNode) error {
	for _, n := range items {
		file := n.GetAnnotations()[kioutil.PathAnnotation]
		if had, there := from[file]; there && had != dir {
			return diag.SameID.Errorf("%s is in %s and in %s", diag.OneLine(file), diag.OneLine(had), diag.OneLine(dir))
		}
		from[file] = dir
	}
	return nil
}
