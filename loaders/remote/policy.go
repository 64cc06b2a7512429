package remote

import (
	"github.com/krmflow/krmflow/loaders/remote/internal/address"
	"github.com/krmflow/krmflow/reference"
)

// allow returns an error if a reference of this origin must not be followed. It checks only the
// name of the host; the addresses that the name resolves to are checked when connecting.
func (s *Session) allow(r reference.Reference, from Origin) error {
	switch protocol := r.Protocol(); {
	case protocol == "https":
	case from == FromFetched && protocol == "file":
		return refused(r, "fetched content must not refer to local files")
	case from == FromFetched:
		return refused(r, "fetched content may refer to other content only over https")
	case protocol == "http" && !s.opt.AllowHTTP && r.Mutable() && !address.IsLoopbackName(r.Host()):
		return refused(r, "content fetched over http can be changed in transit").Hint("use https, or name a digest or a commit")
	}
	if from == FromFetched && !address.IsPublicName(r.Host()) {
		return refused(r, "fetched content must not refer to local or private addresses")
	}
	return nil
}
