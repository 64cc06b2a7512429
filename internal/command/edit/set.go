package edit

import (
	"github.com/krmflow/krmflow/edit"
	"github.com/spf13/cobra"
)

func (s *Session) setCommand() *cobra.Command {
	return s.group("set", "Set fields of a kustomization file",
		s.command("annotation KEY:VALUE...", "Set commonAnnotations", "  krmflow edit set annotation team:web owner:me",
			edit.SetAnnotations),
		s.command("buildmetadata OPTION[,OPTION...]", "Set buildMetadata",
			"  krmflow edit set buildmetadata originAnnotations,managedByLabel",
			func(args []string) (edit.Edit, error) { return edit.BuildMetadata("set", args) }),
		s.setGeneratorCommand("configmap", edit.ConfigMaps),
		s.command("image NAME=NEWNAME[:TAG][@DIGEST] | NAME[:TAG][@DIGEST]...", "Set new names, tags and digests of images",
			`  krmflow edit set image postgres=registry.example.com/postgres:16 nginx:1.27
  krmflow edit set image 'postgres=*:17'   # * keeps the name, tag or digest that the entry has`, edit.SetImages),
		s.command("label KEY:VALUE...", "Set commonLabels", "  krmflow edit set label app:web tier:front", edit.SetLabels),
		s.textCommand("nameprefix PREFIX", "namePrefix", "  krmflow edit set nameprefix prod-"),
		s.textCommand("namesuffix SUFFIX", "nameSuffix", "  krmflow edit set namesuffix -- -v2"),
		s.textCommand("namespace NAMESPACE", "namespace", "  krmflow edit set namespace prod"),
		s.command("replicas NAME=COUNT...", "Set numbers of replicas", "  krmflow edit set replicas web=3 worker=1", edit.SetReplicas),
		s.setGeneratorCommand("secret", edit.Secrets),
	)
}

func (s *Session) textCommand(use, field, example string) *cobra.Command {
	return s.command(use, "Set "+field, example, func(args []string) (edit.Edit, error) { return edit.SetText(field, args) })
}

func (s *Session) setGeneratorCommand(name string, g edit.Generator) *cobra.Command {
	var from edit.Sources
	cmd := s.command(name+" NAME", "Set literals of a "+g.Kind+" that is generated, or its namespace",
		"  krmflow edit set "+name+" settings --from-literal=color=blue",
		func(args []string) (edit.Edit, error) { return g.Set(args, from) })
	cmd.Flags().StringArrayVar(&from.Literals, "from-literal", nil, "`KEY=VALUE` for an existing key; may be repeated")
	cmd.Flags().StringVar(&from.Namespace, "namespace", "", "`namespace` of the entry (default: none, or default)")
	cmd.Flags().StringVar(&from.NewNamespace, "new-namespace", "", "new `namespace` of the entry")
	return cmd
}
