package signature

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// SignsArtifacts reports whether the key can sign artifacts in registries.
func (k Key) SignsArtifacts() bool { return k.Kind == "cosign" }

// VerifyArtifact returns nil if data, stored by cosign next to an artifact in a registry, shows
// that the key signed the artifact with this digest, in the form sha256:HEX. text is the base64
// signature of data, or empty if data is a Sigstore bundle. It returns [ErrMismatch] if the
// signature does not verify, and other errors for malformed data, a different artifact or a key
// that is not a cosign key.
func (k Key) VerifyArtifact(digest string, data []byte, text string) error {
	if !k.SignsArtifacts() {
		return errors.New("artifacts can be signed only with cosign keys")
	}
	if text == "" {
		return k.verifyBundle(digest, data)
	}
	if err := k.verify(data, []byte(text)); err != nil {
		return err
	}
	var signed struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}
	if err := json.Unmarshal(data, &signed); err != nil {
		return errors.New("the signed content does not describe an artifact")
	}
	if t := signed.Critical.Type; t != "cosign container image signature" && t != signPredicate {
		return fmt.Errorf("unexpected type of the signed content: %q", t)
	}
	return sameArtifact(digest, signed.Critical.Image.Digest)
}

// signPredicate is the type of a statement that says only that an artifact is signed. Other
// types describe, for instance, its contents or its build.
const signPredicate = "https://sigstore.dev/cosign/sign/v1"

const inToto = "application/vnd.in-toto+json"

// verifyBundle verifies a statement in a DSSE envelope, the format of newer versions of cosign.
func (k Key) verifyBundle(digest string, data []byte) error {
	var bundle struct {
		Envelope struct {
			Payload     []byte `json:"payload"`
			PayloadType string `json:"payloadType"`
			Signatures  []struct {
				Sig []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	e := &bundle.Envelope
	if err := json.Unmarshal(data, &bundle); err != nil || len(e.Signatures) != 1 || e.PayloadType != inToto {
		return errors.New("the bundle has no signed statement")
	}
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
	if err := k.verify(signed, []byte(base64.StdEncoding.EncodeToString(e.Signatures[0].Sig))); err != nil {
		return err
	}
	var statement struct {
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if err := json.Unmarshal(e.Payload, &statement); err != nil || len(statement.Subject) != 1 {
		return errors.New("the signed statement does not name exactly one artifact")
	}
	if statement.PredicateType != signPredicate {
		return fmt.Errorf("unexpected type of the signed statement: %q", statement.PredicateType)
	}
	return sameArtifact(digest, "sha256:"+statement.Subject[0].Digest["sha256"])
}

func sameArtifact(want, got string) error {
	if !strings.HasPrefix(want, "sha256:") || len(want) != len("sha256:")+64 || got != want {
		return fmt.Errorf("the signature is for a different artifact: %q", got)
	}
	return nil
}
