//go:build linux

package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
)

// imageConfig is the part of an image's configuration that says how to run it.
type imageConfig struct {
	User, WorkingDir string
	Entrypoint, Cmd  []string
	Volumes          map[string]struct{}
	Healthcheck      struct{ Test []string }
}

// The image holds the program, certificates and a folder, of which nobody but its
// user can read the data, and its program runs as the configuration says.
func TestImage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, none, archive := filepath.Join(folder, "program"), filepath.Join(folder, "none"), filepath.Join(folder, "image.tar")
	runGo(t, "build", "-o", program, "../..")
	if err := os.WriteFile(none, []byte("of another architecture"), 0o600); err != nil {
		t.Fatal(err)
	}
	binaries := map[string][]string{"amd64": {program, none}, "arm64": {none, program}}[runtime.GOARCH]
	runGo(t, append([]string{"-C", "../tools", "run", "./image", "1.2.3"}, append(binaries, archive)...)...)
	root := filepath.Join(folder, "root")
	config := unpack(t, archive, root)
	if _, found := config.Volumes["/data"]; !found || config.User != "65532:65532" {
		t.Errorf("the configuration is %+v", config)
	}
	if trusted, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); err != nil || !bytes.HasPrefix(trusted, []byte("-----BEGIN")) {
		t.Errorf("the certificates: %v %.40s", err, trusted)
	}

	// Another port than the usual one, which a sandbox of this machine may have.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	inside := func(arguments []string) *exec.Cmd {
		arguments = strings.Split(strings.ReplaceAll(strings.Join(arguments, "\n"), "8420", port), "\n")
		command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
		command.Dir, command.Env = config.WorkingDir, []string{}
		if os.Geteuid() == 0 {
			command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		} else {
			command.Path, command.Dir = filepath.Join(root, arguments[0]), filepath.Join(root, config.WorkingDir)
		}
		return command
	}
	sandbox := inside(append(config.Entrypoint, config.Cmd...))
	output, err := sandbox.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sandbox.Process.Signal(os.Interrupt)
		_ = sandbox.Wait()
	})
	address, err := process.ReadAddress(output)
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if said, err := inside(config.Healthcheck.Test[1:]).CombinedOutput(); err == nil {
			break
		} else if time.Since(begun) > time.Minute {
			t.Fatalf("it is not healthy: %s", said)
		}
	}
	request, err := address.NewRequest(t.Context(), http.MethodGet, "/cards", "")
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	_ = response.Body.Close()
	if _, err := os.Stat(filepath.Join(root, "data/vcard-sandbox.db")); err != nil {
		t.Error(err)
	}
}

func runGo(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v: %s", arguments, err, output)
	}
}

// unpack writes the files of the image of this machine below root.
func unpack(t *testing.T, archive, root string) imageConfig {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	blobs := map[string][]byte{}
	each(t, file, func(h *tar.Header, content []byte) error {
		blobs[h.Name] = content
		return nil
	})
	type descriptor struct {
		Digest   string
		Platform struct{ OS, Architecture string }
	}
	decode := func(name string, into any) {
		if err := json.Unmarshal(blobs[name], into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	blob := func(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }
	var index, platforms struct{ Manifests []descriptor }
	decode("index.json", &index)
	decode(blob(index.Manifests[0].Digest), &platforms)
	for _, d := range platforms.Manifests {
		if d.Platform.OS != "linux" || d.Platform.Architecture != runtime.GOARCH {
			continue
		}
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		decode(blob(d.Digest), &manifest)
		for _, layer := range manifest.Layers {
			content, err := gzip.NewReader(bytes.NewReader(blobs[blob(layer.Digest)]))
			if err != nil {
				t.Fatal(err)
			}
			each(t, content, func(h *tar.Header, content []byte) error { return place(root, h, content) })
		}
		var config struct{ Config imageConfig }
		decode(blob(manifest.Config.Digest), &config)
		return config.Config
	}
	t.Fatalf("there is no image for %s among %d", runtime.GOARCH, len(platforms.Manifests))
	return imageConfig{}
}

// place writes a file of a layer as whoever unpacks an image does.
func place(root string, h *tar.Header, content []byte) error {
	path := filepath.Join(root, filepath.FromSlash(h.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var err error
	if h.Typeflag == tar.TypeDir {
		err = os.Mkdir(path, fs(h))
	} else {
		err = os.WriteFile(path, content, fs(h))
	}
	if os.Geteuid() == 0 {
		err = errors.Join(err, os.Chown(path, h.Uid, h.Gid))
	}
	return err
}

func fs(h *tar.Header) os.FileMode { return h.FileInfo().Mode().Perm() }

// each reads a tar to its end.
func each(t *testing.T, archive io.Reader, do func(*tar.Header, []byte) error) {
	t.Helper()
	for reader := tar.NewReader(archive); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := do(h, content); err != nil {
			t.Fatal(err)
		}
	}
}
