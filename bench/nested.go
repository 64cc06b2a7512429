package bench

import (
	"fmt"
	"path"
)

// Nested is a tree of n resources in one root with three levels of small kustomizations:
// clusters use teams, and teams use instances of shared app bases. Each level adds a prefix, a
// namespace, labels, a component, a patch or a generator. This is the configuration repository
// of a large company in kustomize's issue 5084.
func Nested(n int) Tree {
	t := Tree{Name: fmt.Sprintf("nested-%d", n), Title: fmt.Sprintf("nested small bases (issue 5084), %d resources", n),
		Roots: []string{"all"}}
	const perApp, appsPerTeam, teamsPerCluster = 5, 5, 5
	t.fill = func(w *treeWriter) {
		bases := make([]app, 12)
		for i := range bases {
			bases[i] = w.app(fmt.Sprintf("app-%02d", i))
			w.base(path.Join("bases", bases[i].name), bases[i], kinds(i, perApp-1))
		}
		w.components()
		var clusters []string
		for c := range max(1, n/(perApp*appsPerTeam*teamsPerCluster)) {
			cluster := fmt.Sprintf("clusters/c%02d", c)
			clusters = append(clusters, "../"+cluster)
			var teams []string
			for g := range teamsPerCluster {
				team := fmt.Sprintf("team-%d", g)
				teams = append(teams, team)
				w.team(path.Join(cluster, team), g, appsPerTeam, bases)
			}
			w.kustomization(cluster, teams,
				fmt.Sprintf("namePrefix: c%02d-\nlabels:\n- pairs:\n    example.com/cluster: c%02d\n  includeTemplates: true\n", c, c))
		}
		w.kustomization("all", clusters, "commonAnnotations:\n  example.com/repository: config\n")
	}
	return t
}

// team writes the kustomization of a team and its instances of shared bases. Each instance adds
// one generated ConfigMap to its base.
func (w *treeWriter) team(folder string, number, count int, bases []app) {
	var instances []string
	for i := range count {
		a := bases[w.rnd.IntN(len(bases))]
		name := fmt.Sprintf("i%d", i)
		instances = append(instances, name)
		w.file(path.Join(folder, name, "kustomization.yaml"), func(out printf) {
			header(out, "Kustomization")
			out("namePrefix: %s-\n", name)
			list(out, "resources", []string{path.Join("../../../../bases", a.name)})
			out("configMapGenerator:\n- name: %s\n  behavior: merge\n  literals:\n  - mode=%s\n", a.name, w.pick("fast", "safe", "slow"))
			out("- name: %s-flags\n  literals:\n  - owner=team-%d\n  - shard=%d\n", a.name, number, w.rnd.IntN(100))
			out("patches:\n- path: merge.yaml\n")
		})
		w.file(path.Join(folder, name, "merge.yaml"), func(out printf) { mergePatch(a, out) })
	}
	w.file(folder+"/kustomization.yaml", func(out printf) {
		header(out, "Kustomization")
		out("namespace: team-%d\nnamePrefix: t%d-\n", number, number)
		list(out, "resources", instances)
		list(out, "components", []string{"../../../components/spread"})
		settings(out, fmt.Sprintf("team-%d", number))
		images(w, out)
	})
}
