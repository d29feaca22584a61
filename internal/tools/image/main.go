// Command image writes an OCI image of the sandbox for two architectures to one archive. If it gets a reference, it
// also pushes the image to that reference. It needs no container daemon, and the same binaries always give the same
// bytes.
//
// usage: image VERSION AMD64_BINARY ARM64_BINARY ARCHIVE [REFERENCE]
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
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
	programName = "vcard" // in the root directory of the image
	programPath = "/" + programName
	address     = "http://127.0.0.1:8420" // of the sandbox inside its container
	userID      = 65532                   // a user without a name and without privileges
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 5 || len(os.Args) > 6 {
		log.Fatal("usage: image VERSION AMD64_BINARY ARM64_BINARY ARCHIVE [REFERENCE]")
	}
	version := os.Args[1]
	targets := []target{
		{architecture: "amd64", binary: os.Args[2]},
		{architecture: "arm64", binary: os.Args[3]},
	}
	archive := os.Args[4]
	references := os.Args[5:] // at most one
	err := run(version, targets, archive, references)
	if err != nil {
		log.Fatal("image: ", err)
	}
}

// target is an architecture with the path of its binary.
type target struct {
	architecture string
	binary       string
}

// run builds the image, pushes it to the references and writes it to the archive.
func run(version string, targets []target, archive string, references []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range targets {
		image, err := build(version, t)
		if err != nil {
			return fmt.Errorf("build the image for %s: %w", t.architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: t.architecture}},
		})
	}
	for _, reference := range references {
		err := push(index, reference)
		if err != nil {
			return fmt.Errorf("push the image to %s: %w", reference, err)
		}
	}
	err := save(index, archive)
	if err != nil {
		return fmt.Errorf("write %s: %w", archive, err)
	}
	return nil
}

// push pushes the images with the credentials of the local Docker configuration.
func push(index v1.ImageIndex, reference string) error {
	destination, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	return remote.WriteIndex(destination, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// build returns the image of one architecture.
func build(version string, t target) (v1.Image, error) {
	content, err := archiveFiles(t.binary)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS = "linux"
	config.Architecture = t.architecture
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", userID, userID),
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8420/tcp": {}},
		Entrypoint:   []string{programPath},
		Cmd:          []string{"sandbox", "--listen=0.0.0.0:8420"},
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", programPath, "sandbox", "--health=" + address},
			Interval: 5 * time.Second,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":   "vcard sandbox",
			"org.opencontainers.image.version": version,
		},
	}
	return mutate.ConfigFile(image, config)
}

// archiveFiles returns all files of the image as a tar archive: the program, the root certificates that it trusts, and the
// folder for the sandbox's file.
func archiveFiles(binary string) ([]byte, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	certificates, err := rootCertificates()
	if err != nil {
		return nil, err
	}
	entries := []struct {
		header  tar.Header
		content []byte
	}{
		{tar.Header{Typeflag: tar.TypeReg, Name: programName, Mode: 0o755}, program},
		{tar.Header{Typeflag: tar.TypeReg, Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, certificates},
		{tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: userID, Gid: userID}, nil},
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, entry := range entries {
		err := addEntry(w, entry.header, entry.content)
		if err != nil {
			return nil, err
		}
	}
	err = w.Close()
	if err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}

// rootCertificates returns the root certificates to trust, in PEM. It leaves out certificates with a constraint,
// because a PEM file cannot express the constraint.
func rootCertificates() ([]byte, error) {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		if err != nil {
			return nil, err
		}
	}
	return certificates.Bytes(), nil
}

// addEntry writes one entry to a tar archive. It sets the size in its copy of the header.
func addEntry(w *tar.Writer, header tar.Header, content []byte) error {
	header.Size = int64(len(content))
	err := w.WriteHeader(&header)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// save writes an OCI image layout to an archive.
func save(index v1.ImageIndex, archive string) error {
	folder, err := os.MkdirTemp("", "vcard-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	images, err := layout.Write(folder, empty.Index) // the layout starts without images
	if err != nil {
		return err
	}
	err = images.AppendIndex(index)
	if err != nil {
		return err
	}
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	err = writeFolder(out, folder)
	return errors.Join(err, out.Close())
}

// writeFolder writes the files of a folder as a tar archive, with paths relative to the folder.
func writeFolder(out io.Writer, folder string) error {
	w := tar.NewWriter(out)
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		relative, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(relative), Mode: 0o644}
		return addEntry(w, header, content)
	})
	if err != nil {
		return err
	}
	return w.Close()
}
