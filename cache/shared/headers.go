package shared

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
)

const (
	// maxHelper is the timeout for a credential helper, and maxCredentials the limit for its
	// output in bytes.
	maxHelper      = 10 * time.Second
	maxCredentials = 1 << 20
)

// A header is a request header. Its name is in lower case, as gRPC requires.
type header struct{ name, value string }

// headers are the request headers from the options, the address and the credential helper.
type headers struct {
	fixed   []header
	helper  string
	uri     string
	timeout time.Duration

	mu      sync.Mutex
	asked   bool
	given   []header // from the helper
	expires time.Time
}

func newHeaders(o Options, at address) (*headers, error) {
	h := &headers{helper: o.Helper, uri: at.shown(), timeout: maxHelper}
	for _, text := range o.Headers {
		name, value, ok := strings.Cut(text, "=")
		x := header{strings.ToLower(name), value}
		if why := x.wrong(); !ok || why != "" {
			return nil, diag.FlagValue.Errorf("a header for the shared cache must be NAME=VALUE, but one %s", cmp.Or(why, "has no ="))
		}
		h.fixed = append(h.fixed, x)
	}
	if at.basic != "" {
		h.fixed = append(h.fixed, header{"authorization", at.basic})
	}
	if at.plain() && !at.loopback() && !o.AllowPlain && (len(h.fixed) > 0 || h.helper != "") {
		e := diag.Errorf(diag.Pos{}, "", "credentials for the shared cache would cross the network to %s without TLS",
			at.shown()).With(diag.Refused)
		return nil, e.Hint("use grpcs or https, or add --allow-http")
	}
	return h, nil
}

// wrong returns the reason why a header is invalid, or an empty string. The reason does not
// contain the value, which may be secret.
func (x header) wrong() string {
	switch {
	case x.name == "" || strings.Trim(x.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return "has an invalid name"
	case strings.HasPrefix(x.name, "grpc-") ||
		slices.Contains([]string{"host", "te", "content-type", "content-length", "transfer-encoding", "connection"}, x.name):
		return "has a name that is reserved for the protocol: " + x.name
	}
	for _, c := range []byte(x.value) {
		if c < ' ' || c > '~' {
			return "has a value with invalid characters: " + x.name
		}
	}
	return ""
}

// list returns the headers for a request. It runs the credential helper if its headers are
// missing or expired.
func (h *headers) list(ctx context.Context) ([]header, error) {
	if h.helper == "" {
		return h.fixed, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.asked || !h.expires.IsZero() && time.Now().After(h.expires) {
		if err := h.ask(ctx); err != nil {
			return nil, err
		}
	}
	return slices.Concat(h.fixed, h.given), nil
}

// ask runs the credential helper.
func (h *headers) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	input, err := json.Marshal(map[string]string{"uri": h.uri})
	if err != nil {
		return refusedf("%w", err)
	}
	stdout, stderr := &bounded{max: maxCredentials}, &bounded{max: 4 << 10}
	cmd := exec.CommandContext(ctx, h.helper, "get")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = time.Second
	// A helper may succeed without reading its input; the resulting write error is ignored.
	if err := cmd.Run(); err != nil && ctx.Err() == nil && !isPipe(cmd, err) {
		said := ""
		if text := short(stderr.String()); text != "" {
			said = ": " + text
		}
		return refusedf("the credential helper %s failed: %w%s", h.helper, err, said)
	}
	if ctx.Err() != nil {
		return refusedf("the credential helper %s took longer than %s", h.helper, h.timeout)
	}
	return h.read(stdout.Bytes())
}

// isPipe reports whether a program succeeded and the only error is its unread input.
func isPipe(cmd *exec.Cmd, err error) bool {
	return !errors.As(err, new(*exec.ExitError)) && cmd.ProcessState != nil && cmd.ProcessState.Success() &&
		!errors.Is(err, exec.ErrWaitDelay)
}

// read parses the output of a credential helper.
func (h *headers) read(text []byte) error {
	var answer struct {
		Headers map[string][]string `json:"headers"`
		Expires time.Time           `json:"expires"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil { // err may quote credentials
		return refusedf("the credential helper %s did not print JSON with headers", h.helper)
	}
	var given []header
	for name, values := range answer.Headers {
		for _, value := range values {
			x := header{strings.ToLower(name), value}
			if why := x.wrong(); why != "" {
				return refusedf("a header of the credential helper %s %s", h.helper, why)
			}
			given = append(given, x)
		}
	}
	slices.SortStableFunc(given, func(a, b header) int { return strings.Compare(a.name, b.name) })
	h.asked, h.given, h.expires = true, given, answer.Expires
	if least := time.Now().Add(time.Minute); !h.expires.IsZero() && h.expires.Before(least) {
		h.expires = least // limits how often the helper runs
	}
	return nil
}

// scrub replaces header values in text, because a server may quote them in an error message.
func (h *headers) scrub(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range slices.Concat(h.fixed, h.given) {
		for _, secret := range append(strings.Fields(x.value), x.value) {
			if len(secret) >= 6 && !strings.EqualFold(secret, "bearer") {
				text = strings.ReplaceAll(text, secret, "xxxxx")
			}
		}
	}
	return text
}

// bounded is a buffer that discards everything after the first max bytes.
type bounded struct {
	bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

var _ io.Writer = (*bounded)(nil)
