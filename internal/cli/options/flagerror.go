package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError converts an error in the flags of cmd to a usage error. For an unknown flag, it
// adds hints that name the flag that was probably meant, or the commands below root that have
// the flag.
func FlagError(cmd, root *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		// pflag reads -catalog=FILE as -c -a -t ...
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			name, _, _ = strings.Cut(letters, "=")
		}
		e := diag.Errorf(diag.Pos{}, "", "%w", err).With(diag.UnknownFlag)
		if word := cmd.Flags().Arg(0); word != "" && cmd.HasSubCommands() && cmd.Args != nil {
			if none := cmd.Args(cmd, cmd.Flags().Args()); none != nil {
				return none // without the command, the flag means nothing
			}
		}
		e.Hints = unknownFlagHints(cmd, root, name)
		err = e
	}
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		err = badValue(value)
	}
	return UsageError(err)
}

// unknownFlagHints returns hints for a flag that cmd does not have.
func unknownFlagHints(cmd, root *cobra.Command, name string) []string {
	if hint := trustHint(name); hint != "" {
		return []string{hint}
	}
	output := cmd.Flags().Lookup("output")
	switch {
	case !cmd.HasParent() && len(commandsWith(root, name)) > 0:
		return []string{fmt.Sprintf("write %s after the command, for instance %s %s", dashed(name), exampleOf(commandsWith(root, name)),
			dashed(name))}
	case name == "R" && cmd.Flags().Lookup("recursive") != nil:
		return []string{"write --recursive"}
	case name == "R" || name == "recursive":
		return []string{"plan, validate and apply-render take all roots below a directory with -R; " + cmd.Name() + " takes one directory"}
	case (name == "json" || name == "yaml") && output != nil && strings.Contains(output.Usage, name):
		return []string{"write -o " + name}
	}
	if have := commandsWith(root, name); len(have) > 0 {
		return []string{fmt.Sprintf("%s is a flag of %s", dashed(name), diag.Some(highest(have)))}
	}
	if near := nearFlag(shownFlags(cmd), name); near != "" {
		return []string{fmt.Sprintf("did you mean %s?", dashed(near))}
	}
	var all []*pflag.Flag
	for _, c := range root.Commands() {
		all = append(all, shownFlags(c)...)
	}
	if near := nearFlag(all, name); near != "" {
		return []string{fmt.Sprintf("did you mean %s? that is a flag of %s", dashed(near), diag.Some(highest(commandsWith(root, near))))}
	}
	return nil
}

// nearFlag returns the name of the flag of which name is probably a misspelling. For a single
// letter, it returns the flag with this letter in the other case. The result is "" if there is
// none.
func nearFlag(flags []*pflag.Flag, name string) string {
	var names []string
	for _, f := range flags {
		if len(name) == 1 && strings.EqualFold(f.Shorthand, name) {
			return f.Shorthand
		}
		names = append(names, f.Name)
	}
	return diag.Nearest(name, names)
}

// exampleOf returns the path of plan, if it is in the list, or else the first one.
func exampleOf(paths []string) string {
	for _, path := range paths {
		if strings.HasSuffix(path, " plan") {
			return path
		}
	}
	return paths[0]
}

// highest returns the paths of commands without those below another one in the list.
func highest(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(paths, func(up string) bool { return strings.HasPrefix(path, up+" ") })
	})
}

// dashed returns a flag name with its dashes.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// shownFlags returns the flags of cmd that its help shows.
func shownFlags(cmd *cobra.Command) (flags []*pflag.Flag) {
	for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				flags = append(flags, f)
			}
		})
	}
	return flags
}

// commandsWith returns the paths of cmd and of all commands below it that have a flag with this
// name or shorthand.
func commandsWith(cmd *cobra.Command, name string) (have []string) {
	for _, f := range shownFlags(cmd) {
		if f.Name == name || f.Shorthand == name {
			have = append(have, cmd.CommandPath())
			break
		}
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			have = append(have, commandsWith(c, name)...)
		}
	}
	return have
}

// OneDash returns an error for an argument that is the long name of a flag after a single dash.
// Without this check, -output would be parsed as -o with the value "utput".
func OneDash(cmd *cobra.Command, args []string) error {
	if cmd.DisableFlagParsing {
		return nil
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		word, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || len(word) < 3 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") != "" || word[0] == '-' {
			continue
		}
		if names := beginLike(cmd, word); len(names) > 0 {
			return UsageError(diag.Errorf(diag.Pos{}, "", "-%s is not a flag: long flags have two dashes", word).
				Hint("did you mean --%s?", strings.Join(names, " or --")))
		}
	}
	return nil
}

// beginLike returns the flag of cmd with the name word. If there is none, it returns the flags
// that word abbreviates or, with the same first two letters, misspells. It is deliberately
// strict, because word can also be a valid shorthand followed by its value.
func beginLike(cmd *cobra.Command, word string) (names []string) {
	for _, f := range shownFlags(cmd) {
		switch {
		case f.Name == word:
			return []string{f.Name}
		case strings.HasPrefix(f.Name, word), strings.HasPrefix(f.Name, word[:2]) && diag.Near(word, f.Name, len(word)/3):
			names = append(names, f.Name)
		}
	}
	return names
}

// badValue returns the error for an invalid value of a flag.
func badValue(err *pflag.InvalidValueError) error {
	flag := err.GetFlag()
	return fmt.Errorf("--%s: %s", flag.Name, settings.WrongValue(flag.Value.Type(), err.GetValue(), err.Unwrap()))
}

// trustHint returns the replacement for a flag that users of similar programs may expect here,
// or "" for any other flag.
func trustHint(name string) string {
	switch name {
	case "enable-container-plugins", "trust-embedded-exec-plugins":
		return "functions run if a catalog lists them and you trust it: --trusted-plugin-catalog=CATALOG"
	case "plugin-container-networks":
		return "a trusted catalog grants network access with requireNetwork: --trusted-plugin-catalog=CATALOG"
	case "plugin-container-mounts":
		return "a trusted catalog grants mounts with requireStorageMount: --trusted-plugin-catalog=CATALOG"
	case "catalog":
		return "--catalog does not grant trust; did you mean --trusted-plugin-catalog?"
	}
	return ""
}
