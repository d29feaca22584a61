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
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, architecture := range []string{"amd64", "arm64"} {
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		image := build(os.Args[1], architecture, os.Args[2+i])
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	for _, reference := range os.Args[5:] {
		to := must(name.ParseReference(reference))
		must(0, remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)))
	}
	save(index, os.Args[4])
}

// must ends the program where something fails.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("image: ", err)
	}
	return value
}

func build(version, architecture, binary string) v1.Image {
	content := files(binary)
	layer := must(tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer)))
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image = must(mutate.AppendLayers(image, layer))
	config := must(image.ConfigFile())
	config.OS, config.Architecture = "linux", architecture
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nobody, nobody), WorkingDir: "/data", Volumes: map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8420/tcp": {}},
		Entrypoint:   []string{program},
		Cmd:          []string{"sandbox", "--listen=0.0.0.0:8420"},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", program, "sandbox", "--health=" + address}, Interval: 5 * time.Second},
		Labels:       map[string]string{"org.opencontainers.image.title": "vcard sandbox", "org.opencontainers.image.version": version},
	}
	return must(mutate.ConfigFile(image, config))
}

// files is all that the image holds, as a tar: the program, certificates to trust,
// and the folder for its file.
func files(binary string) []byte {
	var trusted, content bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot say what one is not to be trusted for
			_ = pem.Encode(&trusted, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	w := tar.NewWriter(&content)
	add(w, tar.Header{Typeflag: tar.TypeReg, Name: program[1:], Mode: 0o755}, must(os.ReadFile(binary)))
	add(w, tar.Header{Typeflag: tar.TypeReg, Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, trusted.Bytes())
	add(w, tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: nobody, Gid: nobody}, nil)
	must(0, w.Close())
	return content.Bytes()
}

func add(to *tar.Writer, header tar.Header, content []byte) {
	header.Size = int64(len(content))
	must(0, to.WriteHeader(&header))
	must(to.Write(content))
}

// save writes an image layout as one archive.
func save(index v1.ImageIndex, archive string) {
	folder := must(os.MkdirTemp("", "vcard-image-"))
	defer os.RemoveAll(folder)
	must(0, must(layout.Write(folder, empty.Index)).AppendIndex(index))
	out := must(os.Create(archive))
	w := tar.NewWriter(out)
	must(0, filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := filepath.ToSlash(must(filepath.Rel(folder, file)))
		add(w, tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, must(os.ReadFile(file)))
		return nil
	}))
	must(0, w.Close())
	must(0, out.Close())
}
