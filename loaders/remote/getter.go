package remote

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/hashicorp/go-getter/v2"
	"github.com/krmflow/krmflow/reference"
)

// get returns the content of a URL. It sends only the credentials in the URL. A wrong status,
// length or encoding of the answer is an error.
//
// go-getter writes the file. It does not get the URL, because it would interpret query parameters
// and double slashes in it, and it does not decide where to connect. Both are left to the
// transport.
func (s *Session) get(ctx context.Context, r reference.Reference, from Origin) ([]byte, error) {
	file, err := s.opt.Cache.Create()
	if err != nil {
		return nil, err
	}
	defer file.Discard()
	to := &exactly{client: s.client(r, from), url: r.Location, most: s.opt.MaxBytes}
	getting := getter.Client{
		Getters: []getter.Getter{&getter.HttpGetter{
			Client:                &http.Client{Transport: to},
			DoNotCheckHeadFirst:   true,
			XTerraformGetDisabled: true,
			MaxBytes:              s.opt.MaxBytes + 1,
		}},
		Decompressors:   map[string]getter.Decompressor{}, // archives are unpacked after their digest is verified
		DisableSymlinks: true,
	}
	_, err = getting.Get(ctx, &getter.Request{Src: nowhere, Dst: file.Name(), GetMode: getter.ModeFile})
	if to.err != nil {
		return nil, to.err // go-getter's own message has the wrong URL
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file.Name())
	if err != nil {
		return nil, err
	}
	if info.Size() > s.opt.MaxBytes {
		return nil, tooLong(s.opt.MaxBytes)
	}
	return os.ReadFile(file.Name())
}

// nowhere is the URL passed to go-getter: a host that does not exist (RFC 2606).
const nowhere = "https://krmflow.invalid/file"

// exactly is a transport that requests one fixed URL, regardless of the request.
type exactly struct {
	client *http.Client
	url    string
	most   int64 // size limit for the response
	err    error // of the request
}

func (e *exactly) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer func() { e.err = err }()
	asked, err := http.NewRequestWithContext(req.Context(), http.MethodGet, e.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err = e.client.Do(asked)
	if err != nil {
		return nil, err
	}
	switch encoding := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		err = &statusError{resp.StatusCode}
	case encoding != "" && encoding != "identity":
		err = fmt.Errorf("the server sent the content in the encoding %q, which was not requested", encoding)
	case resp.ContentLength > e.most:
		err = tooLong(e.most)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}
