package settings

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/pflag"
)

// A Shown is a setting as it is shown to people: without credentials, and without the values of variables that functions get.
type Shown struct {
	// Key is the one in the file; Flag and Variable are empty if there is none.
	Key      string `json:"key"`
	Flag     string `json:"flag,omitempty"`
	Variable string `json:"variable,omitempty"`
	Value    string `json:"value"`
	// From is "default", a variable, or a place in the file.
	From string `json:"from"`
}

// Show returns all settings by their flags, to which they were applied, and what else is in the user's file.
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
	if s == nil {
		return list
	}
	for _, r := range s.Restrictions {
		word := map[bool]string{true: "none", false: "rootOnly"}[r.None]
		list = append(list, Shown{Key: restrictionsKey, Value: r.Path + " " + word, From: r.Pos.String()})
	}
	return list
}

// shownValue returns the value of a flag without what may be secret in it.
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

// WithoutSecrets returns a value of a flag, one of several if there are several, without what may be secret in it.
func WithoutSecrets(flag, value string) string {
	switch name, _, set := strings.Cut(value, "="); {
	case set && (flag == "env" || flag == "remote-cache-header"):
		value = name + "=xxxxx"
	case flag == "remote-cache-header": // what has no name may be all value
		value = "xxxxx"
	}
	return diag.Redact(value)
}
