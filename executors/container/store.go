package container

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/krm"
)

// listTimeout is the time for an engine to list its images.
const listTimeout = 15 * time.Second

// A Store is a snapshot of an engine's images. It is safe for concurrent use.
type Store struct{ images []stored }

// A stored is an image with its full names and with the digests that identify it, the best known
// digest first.
type stored struct {
	names   []string
	digests []string
	// built is true for an image built on this machine. Its digests would be different in a
	// registry.
	built bool
}

// Store returns the images of the engine. It reads podman's files instead of running podman,
// which would create a storage if there is none. If podman uses a remote machine or an
// unsupported storage configuration, and for docker, it runs the engine once to list all images.
func (e Engine) Store(ctx context.Context) (*Store, error) {
	if e.Name == "podman" && !remotePodman() {
		dirs, err := podmanStorage()
		if err == nil {
			return readStorage(dirs)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if e.Name == "podman" {
		return e.listPodman(ctx)
	}
	return e.listDocker(ctx)
}

// Digests returns the digests that identify an image of the store. The first is the digest of
// its index, for an image for several platforms, or of the manifest from its registry. Other
// manifests and the image id follow. The result is empty if the image is not in the store. built
// reports whether the image was built on this machine, so that its registry would give it a
// different digest. A podman on a remote machine does not report this.
func (s *Store) Digests(name string) (digests []krm.Digest, built bool, err error) {
	ref, err := parseReference(name)
	if err != nil {
		return nil, false, err
	}
	names := []string{ref.pullName() + ":" + ref.tagOrLatest()}
	if !strings.Contains(ref.name, "/") {
		names = append([]string{"localhost/" + ref.name + ":" + ref.tagOrLatest()}, names...) // podman's search order
	}
	for _, name := range names {
		for _, im := range s.images {
			if slices.Contains(im.names, name) {
				return parseDigests(im.digests), im.built && !ref.local(), nil
			}
		}
	}
	return nil, false, nil
}

func parseDigests(texts []string) (list []krm.Digest) {
	for _, text := range texts {
		if d, err := krm.ParseDigest(text); err == nil && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// PullCommand returns the command line that pulls an image, or "" for an image without a
// registry.
func (e Engine) PullCommand(name string) string {
	ref, err := parseReference(name)
	if err != nil || ref.local() {
		return ""
	}
	return fmt.Sprintf("%s pull %s:%s", e.Name, ref.pullName(), ref.tagOrLatest())
}

// PushCommand returns the command line that gives the image the digest of its registry, or ""
// for an image without a registry.
func (e Engine) PushCommand(name string) string {
	ref, err := parseReference(name)
	if err != nil || ref.local() {
		return ""
	}
	return fmt.Sprintf("%s push %s:%s && %[1]s pull %[2]s:%[3]s", e.Name, ref.pullName(), ref.tagOrLatest())
}

// remotePodman reports whether podman uses a remote or virtual machine.
func remotePodman() bool {
	return runtime.GOOS != "linux" || os.Getenv("CONTAINER_HOST") != "" || os.Getenv("CONTAINER_CONNECTION") != ""
}

// podmanStorage returns the directories in which podman stores images.
func podmanStorage() ([]string, error) {
	home, uid := os.Getenv("HOME"), os.Geteuid()
	own := filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), home+"/.config"), "containers/storage.conf")
	root := "/var/lib/containers/storage"
	if uid != 0 {
		root = filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), home+"/.local/share"), "containers/storage")
	}
	files := []string{os.Getenv("CONTAINERS_STORAGE_CONF"), own, "/etc/containers/storage.conf", "/usr/share/containers/storage.conf"}
	if uid == 0 {
		files[1] = ""
	}
	for i, file := range files {
		if file == "" {
			continue
		}
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var conf storageConf
		if err == nil {
			conf, err = parseStorageConf(string(data))
		}
		if err != nil {
			return nil, err
		}
		if uid != 0 && conf.rootless != "" {
			root = strings.NewReplacer("$HOME", home, "$USER", os.Getenv("USER"), "$UID", fmt.Sprint(uid)).Replace(conf.rootless)
		}
		if conf.graph != "" && (uid == 0 || i < 2) { // the system-wide graphroot is root's
			root = conf.graph
		}
		return append([]string{root}, conf.more...), nil
	}
	return []string{root}, nil
}

// readStorage reads the image lists of all storage drivers in dirs.
func readStorage(dirs []string) (*Store, error) {
	s := &Store{}
	for _, dir := range dirs {
		for _, driver := range []string{"overlay", "vfs", "btrfs", "zfs", "aufs"} {
			file := filepath.Join(dir, driver+"-images", "images.json")
			data, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			var images []storageImage
			if err := json.Unmarshal(data, &images); err != nil {
				return nil, fmt.Errorf("%s is not a list of images: %w", file, err)
			}
			for _, im := range images {
				dir := filepath.Join(filepath.Dir(file), im.ID)
				s.images = append(s.images, stored{im.Names, im.digests(dir), im.built(dir)})
			}
		}
	}
	return s, nil
}

// A storageImage is an entry of images.json.
type storageImage struct {
	ID     string            `json:"id"`
	Digest string            `json:"digest"`
	Names  []string          `json:"names"`
	Data   map[string]string `json:"big-data-digests"` // digests of the files in the image's directory
}

// digests returns the digests that identify the image. An image built here and pushed has two
// manifests, and Digest is the one that only this machine knows. For an image for several
// platforms, Digest may or may not be the index.
func (im storageImage) digests(dir string) []string {
	var indexes, manifests []string
	for key, digest := range im.Data {
		if !strings.HasPrefix(key, "manifest-sha256:") {
			continue
		}
		if isIndex(filepath.Join(dir, "="+base64.StdEncoding.EncodeToString([]byte(key)))) {
			indexes = append(indexes, digest)
		} else {
			manifests = append(manifests, digest)
		}
	}
	slices.Sort(indexes)
	slices.Sort(manifests)
	list := append(indexes, im.Data["manifest"])
	return append(append(list, manifests...), im.Digest, "sha256:"+im.ID)
}

// built reports whether the image was built on this machine and not pulled since. Such an image
// has no manifest, or its manifest names uncompressed layers. A push compresses them, so the
// manifest in the registry is different.
func (im storageImage) built(dir string) bool {
	if im.Digest == "" && im.Data["manifest"] == "" {
		return true
	}
	data, err := os.ReadFile(filepath.Join(dir, "manifest"))
	var manifest struct{ Layers []struct{ MediaType string } }
	if err != nil || json.Unmarshal(data, &manifest) != nil {
		return false
	}
	return slices.ContainsFunc(manifest.Layers, func(l struct{ MediaType string }) bool { return strings.HasSuffix(l.MediaType, ".tar") })
}

// isIndex reports whether a file is an index, which lists manifests for several platforms.
func isIndex(file string) bool {
	data, err := os.ReadFile(file)
	var index struct{ Manifests []json.RawMessage }
	return err == nil && json.Unmarshal(data, &index) == nil && len(index.Manifests) > 0
}

func (e Engine) listPodman(ctx context.Context) (*Store, error) {
	out, err := e.output(ctx, "images", "--format", "json")
	if err != nil {
		return nil, err
	}
	var images []struct {
		ID                 string `json:"Id"`
		Digest             string
		RepoDigests, Names []string
	}
	if err := json.Unmarshal([]byte(out), &images); err != nil {
		return nil, fmt.Errorf("%s images printed no list of images", e.Name)
	}
	s := &Store{}
	for _, im := range images {
		list := []string{im.Digest}
		for _, r := range im.RepoDigests {
			list = append(list, r[strings.IndexByte(r, '@')+1:])
		}
		s.images = append(s.images, stored{names: im.Names, digests: append(list, "sha256:"+im.ID)})
	}
	return s, nil
}

func (e Engine) listDocker(ctx context.Context) (*Store, error) {
	out, err := e.output(ctx, "image", "ls", "--no-trunc", "--digests", "--format", "{{json .}}")
	if err != nil {
		return nil, err
	}
	s := &Store{}
	for d := json.NewDecoder(bytes.NewReader([]byte(out))); d.More(); {
		var im struct{ ID, Repository, Tag, Digest string }
		if err := d.Decode(&im); err != nil {
			return nil, fmt.Errorf("%s image ls printed no list of images", e.Name)
		}
		if ref, err := parseReference(im.Repository + ":" + im.Tag); err == nil {
			s.images = append(s.images, stored{[]string{ref.pullName() + ":" + ref.tag}, []string{im.Digest, im.ID}, im.Digest == "<none>"})
		}
	}
	return s, nil
}
