package revision

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/git"
)

// newGit returns a Git for a directory. It has no network access, so objects missing in a partial
// clone stay missing. It inherits the location of the user's configuration, which may mark a
// repository of a different user as safe. It does not inherit GIT_DIR and similar variables,
// which are set in git hooks: the directory alone selects the repository.
func newGit(dir string) (*git.Git, error) {
	g, err := git.New("-c", "core.warnAmbiguousRefs=true", "-c", "core.quotePath=false", "-c", "protocol.allow=never", "-c",
		"credential.helper=")
	if err != nil {
		return nil, diag.NoRevision.Errorf("%s needs git, which is not on PATH", Prefix)
	}
	g.Dir = dir
	g.Env = append(g.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_ASKPASS=false")
	g.Inherit("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "GIT_EXEC_PATH",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
	g.Configure(git.UserConfig())
	return g, nil
}
