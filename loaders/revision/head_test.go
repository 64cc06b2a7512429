package revision

import (
	"testing"
	"time"
)

func TestCommitTime(t *testing.T) {
	object := "tree 1\nauthor committer 9 <a@b> 5 +0000\ncommitter A > <B> <a@b> 1700000000 +0100\n\ncommitter A <a@b> 7 +0000\n"
	got, err := commitTime(object)
	if err != nil || !got.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("commitTime = %v, %v", got, err)
	}
	for _, wrong := range []string{"", "tree 1\n\ncommitter A <a@b> 7 +0000", "committer A <a@b>\n\n", "committer x\n"} {
		if got, err := commitTime(wrong); err == nil {
			t.Errorf("commitTime(%q) = %v", wrong, got)
		}
	}
}

func TestRemoteIn(t *testing.T) {
	for config, want := range map[string]string{
		"": "",
		"remote.upstream.url https://example.com/a":         "https://example.com/a",
		"remote.upstream.url u\nremote.origin.url o":        "o",
		"remote.a.url a\nremote.b.url b":                    "",
		"remote.origin.url first\nremote.origin.url second": "first",
	} {
		if got := remoteIn(config); got != want {
			t.Errorf("remoteIn(%q) = %q, want %q", config, got, want)
		}
	}
}
