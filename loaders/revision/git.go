package revision

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/git"
)

// newGit returns what starts git in a directory. It connects to nothing: what is missing in a partial clone stays missing. Of the environment it gets
// where the user's configuration is, which may say that a repository of somebody else is trusted; but not GIT_DIR and the like, which hooks of git have:
// the directory decides.
func newGit(dir string) (*git.Git, error) {
	g, err := git.New("-c", "core.warnAmbiguousRefs=true", "-c", "core.quotePath=false", "-c", "protocol.allow=never", "-c", "credential.helper=")
	if err != nil {
		return nil, diag.NoRevision.Errorf("%s is read by the program git, which is not on PATH", Prefix)
	}
	g.Dir = dir
	g.Env = append(g.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_ASKPASS=false")
	g.Inherit("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "GIT_EXEC_PATH",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
	g.Configure(git.UserConfig())
	return g, nil
}
