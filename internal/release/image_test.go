//go:build linux

package release_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
	if testing.Short() {
		t.Skip("NOT RUN: make test-all builds the image")
	}
	folder := t.TempDir()
	program, none, archive := filepath.Join(folder, "program"), filepath.Join(folder, "none"), filepath.Join(folder, "image.tar")
	run(t, "", "go", "build", "-trimpath", "-tags=grpcnotrace", "-o", program, "../cmd/vcard")
	write(t, none, "of another architecture")
	binaries := map[string][]string{"amd64": {program, none}, "arm64": {none, program}}[runtime.GOARCH]
	run(t, "../tools", "go", append([]string{"run", "-trimpath", "./image", "1.2.3"}, append(binaries, archive)...)...)
	root := filepath.Join(folder, "root")
	config := unpack(t, archive, root)
	if _, found := config.Volumes["/data"]; !found || config.User != "65532:65532" {
		t.Errorf("the configuration is %+v", config)
	}
	if trusted, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); err != nil || !bytes.HasPrefix(trusted, []byte("-----BEGIN")) {
		t.Errorf("the certificates: %v %.40s", err, trusted)
	}

	// Another port than the usual one, which a sandbox of this machine may have.
	listener := sandboxtest.Must(net.Listen("tcp", "127.0.0.1:0"))
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
	output := sandboxtest.Must(sandbox.StdoutPipe())
	sandboxtest.Must(0, sandbox.Start())
	t.Cleanup(func() {
		_ = sandbox.Process.Signal(os.Interrupt)
		_ = sandbox.Wait()
	})
	address := sandboxtest.Must(process.ReadAddress(output))
	sandboxtest.Eventually(t, func() bool { return inside(config.Healthcheck.Test[1:]).Run() == nil })
	sandboxtest.NewClient(t, address).Get("/cards").OK(http.StatusOK)
	sandboxtest.Must(os.Stat(filepath.Join(root, "data/vcard-sandbox.db")))
}

// unpack writes the files of the image of this machine below root.
func unpack(t *testing.T, archive, root string) imageConfig {
	t.Helper()
	layout := t.TempDir()
	run(t, "", "tar", "-xf", archive, "-C", layout)
	run(t, "", "mkdir", root)
	blob := func(digest string) string {
		return filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1))
	}
	decode := func(path string, into any) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err := errors.Join(err, json.Unmarshal(text, into)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	type descriptor struct {
		Digest   string
		Platform struct{ OS, Architecture string }
	}
	var index, platforms struct{ Manifests []descriptor }
	decode(filepath.Join(layout, "index.json"), &index)
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
			run(t, "", "tar", "-xpzf", blob(layer.Digest), "-C", root) // with the owners, as whoever unpacks an image does
		}
		var config struct{ Config imageConfig }
		decode(blob(manifest.Config.Digest), &config)
		return config.Config
	}
	t.Fatalf("there is no image for %s among %d", runtime.GOARCH, len(platforms.Manifests))
	return imageConfig{}
}
