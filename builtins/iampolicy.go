// Follows api/internal/builtins/IAMPolicyGenerator.go,
// api/filters/iampolicygenerator/iampolicygenerator.go, api/types/iampolicygenerator.go.

package builtins

import (
	"errors"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An IAMPolicyGenerator makes the ServiceAccount through which a workload acts as a cloud
// account. It supports only GKE.
type IAMPolicyGenerator struct {
	Cloud             string     `json:"cloud" decode:"text"`
	KubernetesService ObjectName `json:"kubernetesService" decode:"text"`
	ServiceAccount    struct {
		Name      string `json:"name"`
		ProjectID string `json:"projectId"`
	} `json:"serviceAccount" decode:"text"`

	made generated
}

// Configure checks the cloud and the service account.
func (g *IAMPolicyGenerator) Configure(env Env) error {
	var errs []error
	if g.Cloud == "" {
		errs = append(errs, notGiven("cloud is missing; only gke is supported"))
	} else if g.Cloud != "gke" {
		errs = append(errs, diag.BadValue.Errorf("cloud %q is not supported, only gke is", g.Cloud))
	}
	if g.ServiceAccount.Name == "" {
		errs = append(errs, notGiven("serviceAccount.name is missing"))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	// kustomize writes the names into YAML text without quotes, so 123 becomes a number.
	meta := []yaml.Field{
		{Key: "annotations", Value: yaml.MapOf(yaml.Field{
			Key:   "iam.gke.io/gcp-service-account",
			Value: yaml.Plain(g.ServiceAccount.Name + "@" + g.ServiceAccount.ProjectID + ".iam.gserviceaccount.com"),
		})},
		{Key: "name", Value: yaml.Plain(g.KubernetesService.Name)},
	}
	if ns := g.KubernetesService.Namespace; ns != "" {
		meta = append(meta, yaml.Field{Key: "namespace", Value: yaml.Plain(ns)})
	}
	g.made = generated{schema: env.Schema, value: yaml.MapOf(
		yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")},
		yaml.Field{Key: "kind", Value: yaml.Str("ServiceAccount")},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(meta...)},
	)}
	return nil
}

// Generate returns the ServiceAccount.
func (g *IAMPolicyGenerator) Generate() ([]*krm.Resource, error) { return g.made.resources(), nil }
