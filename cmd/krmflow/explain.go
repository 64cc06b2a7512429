package main

import (
	"errors"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/messages"
	"github.com/spf13/cobra"
)

func explainCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]...",
		Short: "Say more about messages, by their codes",
		Long: `Print what messages mean, why they happen and what to do, with an example. The first message of a kind names its code in a line
below it, 'see krmflow explain KF0101' for instance. Without a code, list them all.`,
		Example: "  krmflow explain KF0101\n  krmflow explain | grep patch",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return messages.Codes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.Print(messages.List())
			}
			var pages []string
			var errs []error
			for _, code := range args {
				if p := messages.Find(code); p != nil {
					pages = append(pages, p.String())
				} else {
					errs = append(errs, noSuchCode(code))
				}
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			return a.Print(strings.Join(pages, "\n"))
		},
	}
}

func noSuchCode(code string) error {
	e := diag.Errorf(diag.Pos{}, "", "there is no message with the code %q", code).With(diag.Arguments)
	e.Hints = diag.DidYouMean(strings.ToUpper(code), messages.Codes())
	return usageError(e.Hint("krmflow explain lists all codes"))
}
