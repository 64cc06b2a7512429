package remote

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// Signatures of an artifact are found under the tag of cosign and through the OCI 1.1 referrers
// API. Other referrers are ignored. Offline, the signatures of the last lookup are used.
func TestSignaturesAreFoundInRegistry(t *testing.T) {
	artifact := krm.DigestOf([]byte("artifact"))
	files := map[string]string{} // below the repository
	manifest := func(mediaType, data, annotation string) string {
		d := krm.DigestOf([]byte(data))
		files["blobs/"+d.String()] = data
		return fmt.Sprintf(
			`{"layers": [{"mediaType": %q, "digest": %q, "size": %d, "annotations": {"dev.cosignproject.cosign/signature": %q}}]}`,
			mediaType, d, len(data), annotation)
	}
	var referrers []string
	refer := func(artifactType, text string) {
		d := krm.DigestOf([]byte(text))
		files["manifests/"+d.String()] = text
		referrers = append(referrers, fmt.Sprintf(`{"artifactType": %q, "digest": %q, "size": %d}`, artifactType, d, len(text)))
		files["referrers/"+artifact.String()] = `{"manifests": [` + strings.Join(referrers, ", ") + `]}`
	}
	status := 0
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/v2/org/cat/")]
		switch {
		case status != 0:
			w.WriteHeader(status)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Write([]byte(text))
		}
	})
	host := strings.TrimPrefix(srv.URL, "https://")
	r := parse(t, "oci://"+host+"/org/cat:v1@"+artifact.String())
	s := session(t, srv.options())
	if list, err := s.Signatures(t.Context(), r, FromUser); len(list) > 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	files["manifests/"+strings.Replace(artifact.String(), ":", "-", 1)+".sig"] = manifest(signedLayer, "one", "sig one")
	refer("application/spdx+json", manifest(signedLayer, "no signature", "no"))
	refer(signedArtifact, manifest(signedLayer, "two", "sig two"))
	refer(signedArtifact, manifest("text/plain", "no form", "no"))
	refer("application/vnd.dev.sigstore.bundle.v0.3+json",
		manifest("application/vnd.dev.sigstore.bundle.v0.3+json", "three", "no part of a bundle"))
	want := "one sig one;two sig two;three ;"
	shown := func(s *Session) (text string) {
		list, err := s.Signatures(t.Context(), r, FromUser)
		for _, sig := range list {
			text += fmt.Sprintf("%s %s;", sig.Data, sig.Text)
		}
		return text + strings.TrimPrefix(fmt.Sprint(err), "<nil>")
	}
	if got := shown(s); got != want {
		t.Errorf("%s", got)
	}
	opt := srv.options()
	opt.Cache, opt.Offline = s.opt.Cache, true
	if got := shown(session(t, opt)); got != want {
		t.Errorf("offline: %s", got)
	}
	status = http.StatusForbidden
	if _, err := s.Signatures(t.Context(), r, FromUser); !errors.Is(err, ErrRetrieval) {
		t.Error(err)
	}
	status = 0
	other := r
	other.Pin = krm.DigestOf([]byte("other"))
	var missing *OfflineError
	if _, err := session(t, opt).Signatures(t.Context(), other, FromUser); !errors.As(err, &missing) {
		t.Error(err)
	}
	refer(signedArtifact, manifest(signedLayer, string(bytes.Repeat([]byte("x"), maxSignature+1)), "large"))
	if _, err := s.Signatures(t.Context(), r, FromUser); !errors.Is(err, diag.ErrLimit) {
		t.Error(err)
	}
}
