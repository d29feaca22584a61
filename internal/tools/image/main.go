// Command image writes an OCI image of the sandbox, for two architectures, as one
// archive, and pushes it where a reference is given. No daemon is needed, and the
// same binaries give the same bytes.
//
// usage: image VERSION AMD64_BINARY ARM64_BINARY ARCHIVE [REFERENCE]
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	program = "/vcard"
	address = "http://127.0.0.1:8420"
	nobody  = 65532
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 5 || len(os.Args) > 6 {
		log.Fatal("usage: image VERSION AMD64_BINARY ARM64_BINARY ARCHIVE [REFERENCE]")
	}
	if err := run(os.Args[1], os.Args[2:4], os.Args[4], os.Args[5:]); err != nil {
		log.Fatal("image: ", err)
	}
}

func run(version string, binaries []string, archive string, references []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, architecture := range []string{"amd64", "arm64"} {
		image, err := build(version, architecture, binaries[i])
		if err != nil {
			return err
		}
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	for _, reference := range references {
		to, err := name.ParseReference(reference)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return err
		}
	}
	return save(index, archive)
}

func build(version, architecture, binary string) (v1.Image, error) {
	content, err := files(binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture = "linux", architecture
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nobody, nobody), WorkingDir: "/data", Volumes: map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8420/tcp": {}},
		Entrypoint:   []string{program},
		Cmd:          []string{"sandbox", "--listen=0.0.0.0:8420"},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", program, "sandbox", "--health=" + address}, Interval: 5 * time.Second},
		Labels:       map[string]string{"org.opencontainers.image.title": "vcard sandbox", "org.opencontainers.image.version": version},
	}
	return mutate.ConfigFile(image, config)
}

// files is all that the image holds, as a tar: the program, certificates to trust,
// and the folder for its file.
func files(binary string) ([]byte, error) {
	executable, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var trusted, content bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot say what one is not to be trusted for
			_ = pem.Encode(&trusted, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	w := tar.NewWriter(&content)
	for _, f := range []struct {
		tar.Header
		content []byte
	}{
		{tar.Header{Typeflag: tar.TypeReg, Name: program[1:], Mode: 0o755}, executable},
		{tar.Header{Typeflag: tar.TypeReg, Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, trusted.Bytes()},
		{tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: nobody, Gid: nobody}, nil},
	} {
		f.Size = int64(len(f.content))
		if err := w.WriteHeader(&f.Header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	return content.Bytes(), w.Close()
}

// save writes an image layout as one archive.
func save(index v1.ImageIndex, archive string) error {
	folder, err := os.MkdirTemp("", "vcard-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index); err != nil {
		return err
	}
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
