package edit

import (
	"github.com/krmflow/krmflow/edit"
	"github.com/spf13/cobra"
)

func (s *Session) addCommand() *cobra.Command {
	return s.group("add", "Add entries to a kustomization file",
		s.addAnnotationCommand(),
		s.command("base DIR[,DIR...]", "Add folders to resources", "  krmflow edit add base ../base,../extra", edit.AddBases),
		s.command("buildmetadata OPTION[,OPTION...]", "Add options to buildMetadata", "  krmflow edit add buildmetadata originAnnotations",
			func(args []string) (edit.Edit, error) { return edit.BuildMetadata("add", args) }),
		s.command("component PATTERN...", "Add folders to components", "  krmflow edit add component ../components/tls",
			edit.AddComponents),
		s.addGeneratorCommand("configmap", edit.ConfigMaps),
		s.filesCommand("configuration", "configurations"),
		s.filesCommand("generator", "generators"),
		s.addLabelCommand(),
		s.patchCommand("Add an entry to patches", "  krmflow edit add patch --path patch.yaml --kind Deployment --name web", edit.AddPatch),
		s.addResourceCommand(),
		s.addGeneratorCommand("secret", edit.Secrets),
		s.filesCommand("transformer", "transformers"),
	)
}

func (s *Session) addAnnotationCommand() *cobra.Command {
	var force bool
	cmd := s.command("annotation KEY:VALUE...", "Add commonAnnotations", "  krmflow edit add annotation team:web owner:me",
		func(args []string) (edit.Edit, error) { return edit.AddAnnotations(args, force) })
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace the values of existing keys")
	return cmd
}

func (s *Session) addLabelCommand() *cobra.Command {
	var o edit.AddLabelOptions
	cmd := s.command("label KEY:VALUE...", "Add commonLabels, or pairs of labels",
		`  krmflow edit add label app:web
  krmflow edit add label tier:front --without-selector --include-templates`,
		func(args []string) (edit.Edit, error) { return edit.AddLabels(args, o) })
	cmd.Flags().BoolVarP(&o.Force, "force", "f", false, "replace the values of existing keys")
	cmd.Flags().BoolVar(&o.WithoutSelector, "without-selector", false, "write to labels, which keeps selectors, instead of commonLabels")
	cmd.Flags().BoolVar(&o.IncludeTemplates, "include-templates", false, "with --without-selector, also label pod templates")
	return cmd
}

func (s *Session) addResourceCommand() *cobra.Command {
	var noVerify bool
	cmd := s.command("resource PATTERN...", "Add files, folders and remote references to resources",
		"  krmflow edit add resource deployment.yaml 'crds/*.yaml' ../base",
		func(args []string) (edit.Edit, error) { return edit.AddResources(args, !noVerify) })
	cmd.Flags().BoolVar(&noVerify, "no-verify", false, "add the arguments unchecked, even if nothing exists there")
	return cmd
}

func (s *Session) syncCommand() *cobra.Command {
	var check bool
	cmd := s.command("resources PATTERN...", "Make resources agree with the files that match patterns",
		"  krmflow edit sync resources '*.yaml'\n  krmflow edit sync resources '*.yaml' --check",
		func(args []string) (edit.Edit, error) { return edit.SyncResources(args, check) })
	cmd.Flags().BoolVar(&check, "check", false, "change nothing, and fail if a file is not listed or an entry does not exist")
	return s.group("sync", "Make a list agree with the files", cmd)
}

func (s *Session) filesCommand(name, field string) *cobra.Command {
	return s.command(name+" PATTERN...", "Add files to "+field, "  krmflow edit add "+name+" "+name+".yaml",
		func(args []string) (edit.Edit, error) { return edit.AddFiles(field, args) })
}

func (s *Session) addGeneratorCommand(name string, g edit.Generator) *cobra.Command {
	var from edit.Sources
	cmd := s.command(name+" NAME", "Add sources of a "+g.Kind+" that is generated",
		"  krmflow edit add "+name+" settings --from-literal=color=blue --from-file='conf/*.ini'",
		func(args []string) (edit.Edit, error) { return g.Add(args, from) })
	f := cmd.Flags()
	f.StringArrayVar(&from.Literals, "from-literal", nil, "`KEY=VALUE` to add; may be repeated")
	f.StringSliceVar(&from.Files, "from-file", nil, "`[KEY=]PATTERN` of files to add; the default key is the file name")
	f.StringVar(&from.EnvFile, "from-env-file", "", "`FILE` with KEY=VALUE lines")
	f.StringVar(&from.Namespace, "namespace", "", "`namespace` of the entry (default: none, or default)")
	f.BoolVar(&from.DisableNameSuffixHash, "disableNameSuffixHash", false, "omit the content hash from the name")
	if g == edit.Secrets {
		f.StringVar(&from.Type, "type", "Opaque", "`type` of a new entry, such as kubernetes.io/tls")
	} else {
		f.StringVar(&from.Behavior, "behavior", "", "create, merge or replace")
	}
	return cmd
}

// patchCommand returns a command for one entry of patches, which its flags describe.
func (s *Session) patchCommand(short, example string, edits func(edit.Patch) (edit.Edit, error)) *cobra.Command {
	var p edit.Patch
	cmd := s.command("patch", short, example, func([]string) (edit.Edit, error) { return edits(p) })
	f := cmd.Flags()
	f.StringVar(&p.Path, "path", "", "patch `FILE`")
	f.StringVar(&p.Patch, "patch", "", "patch `text`")
	f.StringVar(&p.Target.Group, "group", "", "API `group` of the target")
	f.StringVar(&p.Target.Version, "version", "", "API `version` of the target")
	f.StringVar(&p.Target.Kind, "kind", "", "`kind` of the target")
	f.StringVar(&p.Target.Name, "name", "", "`name` of the target")
	f.StringVar(&p.Target.Namespace, "namespace", "", "`namespace` of the target")
	f.StringVar(&p.Target.LabelSelector, "label-selector", "", "label `selector` of the target")
	f.StringVar(&p.Target.AnnotationSelector, "annotation-selector", "", "annotation `selector` of the target")
	return cmd
}
