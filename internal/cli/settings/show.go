package settings

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/pflag"
)

// A Shown is a setting in the form that is printed, without credentials and without the values
// of environment variables for functions.
type Shown struct {
	// Key is the key in the file. Flag and Variable are empty if the setting has none.
	Key      string `json:"key"`
	Flag     string `json:"flag,omitempty"`
	Variable string `json:"variable,omitempty"`
	Value    string `json:"value"`
	// From is "default", a variable, or a position in the file.
	From string `json:"from"`
}

// Show returns all settings of flags, to which s must have been applied, and the other entries
// of the user's file.
func (s *Settings) Show(flags *pflag.FlagSet, config *trust.Config) (list []Shown) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !IsSetting(f.Name) {
			return
		}
		x := Shown{Key: Key(f.Name), Flag: "--" + f.Name, Value: shownValue(f), From: From(f)}
		if !IsTrusted(f.Name) {
			x.Variable = Variable(f.Name)
		}
		if x.From == "" {
			x.From = "default"
		}
		list = append(list, x)
	})
	for _, e := range config.Catalogs {
		list = append(list, Shown{Key: "trustedCatalogs", Value: e.String(), From: e.Pos.String()})
	}
	for _, p := range config.Publishers {
		for _, e := range p.Places {
			list = append(list, Shown{Key: "publishers", Value: e.String() + " signed by " + p.Name, From: e.Pos.String()})
		}
	}
	for _, g := range config.Grants {
		list = append(list, Shown{Key: "grants", Value: g.String(), From: g.Pos.String()})
	}
	if s == nil {
		return list
	}
	for _, r := range s.Restrictions {
		word := map[bool]string{true: "none", false: "rootOnly"}[r.None]
		list = append(list, Shown{Key: restrictionsKey, Value: r.Path + " " + word, From: r.Pos.String()})
	}
	return list
}

// shownValue returns the value of a flag with possible secrets redacted.
func shownValue(f *pflag.Flag) string {
	list, ok := f.Value.(interface{ GetSlice() []string })
	if !ok {
		return WithoutSecrets(f.Name, f.Value.String())
	}
	var shown []string
	for _, text := range list.GetSlice() {
		shown = append(shown, WithoutSecrets(f.Name, text))
	}
	return strings.Join(shown, ", ")
}

// WithoutSecrets returns a flag value, or one element of a list, with possible secrets
// redacted.
func WithoutSecrets(flag, value string) string {
	switch name, _, set := strings.Cut(value, "="); {
	case set && (flag == "env" || flag == "remote-cache-header"):
		value = name + "=xxxxx"
	case flag == "remote-cache-header": // without a name, the whole text may be the value
		value = "xxxxx"
	}
	return diag.Redact(value)
}
