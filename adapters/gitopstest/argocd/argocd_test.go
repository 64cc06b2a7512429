package argocd_test

import (
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	appsettemplate "github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/util/kustomize"
	"github.com/krmflow/krmflow/gitops/argocd"
)

var _ = generators.NewListGenerator
var _ = utils.Render{}
var _ = kustomize.NewKustomizeApp
var _ = appsettemplate.GenerateApplications
var _ = argocd.Roots

func TestX(t *testing.T) {}
