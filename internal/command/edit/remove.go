package edit

import (
	"github.com/krmflow/krmflow/edit"
	"github.com/spf13/cobra"
)

func (s *Session) removeCommand() *cobra.Command {
	return s.group("remove", "Remove entries from a kustomization file",
		s.removePairsCommand("annotation", "commonAnnotations"),
		s.command("buildmetadata OPTION[,OPTION...]", "Remove options from buildMetadata",
			"  krmflow edit remove buildmetadata originAnnotations",
			func(args []string) (edit.Edit, error) { return edit.BuildMetadata("remove", args) }),
		s.removeMatchingCommand("component", "components", "'../components/*'"),
		s.removeGeneratorCommand("configmap", edit.ConfigMaps),
		s.removePairsCommand("label", "commonLabels"),
		s.patchCommand("Remove the entry of patches that has exactly these fields",
			"  krmflow edit remove patch --path patch.yaml --kind Deployment --name web", edit.RemovePatch),
		s.removeMatchingCommand("resource", "resources", "'crds/*.yaml'"),
		s.removeGeneratorCommand("secret", edit.Secrets),
		s.removeMatchingCommand("transformer", "transformers", "'transformers/*.yaml'"),
	)
}

func (s *Session) removePairsCommand(name, field string) *cobra.Command {
	var ignore bool
	cmd := s.command(name+" KEY[,KEY...]", "Remove keys from "+field, "  krmflow edit remove "+name+" team,owner",
		func(args []string) (edit.Edit, error) { return edit.RemovePairs(field, args, ignore) })
	cmd.Flags().BoolVarP(&ignore, "ignore-non-existence", "i", false, "ignore missing keys")
	return cmd
}

func (s *Session) removeMatchingCommand(name, field, example string) *cobra.Command {
	return s.command(name+" PATTERN...", "Remove entries from "+field+" that fit a pattern", "  krmflow edit remove "+name+" "+example,
		func(args []string) (edit.Edit, error) { return edit.RemoveMatching(field, args) })
}

func (s *Session) removeGeneratorCommand(name string, g edit.Generator) *cobra.Command {
	var namespace string
	cmd := s.command(name+" NAME[,NAME...]", "Remove entries from "+g.Field, "  krmflow edit remove "+name+" settings,other",
		func(args []string) (edit.Edit, error) { return g.Remove(args, namespace) })
	cmd.Flags().StringVar(&namespace, "namespace", "", "`namespace` of the entries (default: none, or default)")
	return cmd
}
