// Command sbom writes what a Go binary was built from as a CycloneDX document.
//
// usage: sbom BINARY VERSION FILE
package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"log"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: sbom BINARY VERSION FILE")
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func write(binary, version, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	var text bytes.Buffer
	err = cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(describe(info, version), cyclonedx.SpecVersion1_6)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644) //nolint:gosec // it is published
}

func describe(info *debug.BuildInfo, version string) *cyclonedx.BOM {
	var settings []cyclonedx.Property
	for _, s := range info.Settings {
		settings = append(settings, cyclonedx.Property{Name: "go:" + strings.TrimPrefix(s.Key, "-"), Value: s.Value})
	}
	product := newComponent(cyclonedx.ComponentTypeApplication, info.Main.Path, version, settings...)
	components := []cyclonedx.Component{newComponent(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		used := cmp.Or(module.Replace, module)
		sum := cyclonedx.Property{Name: "go:sum", Value: used.Sum}
		components = append(components, newComponent(cyclonedx.ComponentTypeLibrary, used.Path, used.Version, sum))
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata, bom.Components = &cyclonedx.Metadata{Component: &product}, &components
	return bom
}

func newComponent(kind cyclonedx.ComponentType, path, version string, properties ...cyclonedx.Property) cyclonedx.Component {
	c := cyclonedx.Component{Type: kind, Name: path, Version: version, PackageURL: "pkg:golang/" + path + "@" + url.QueryEscape(version)}
	if len(properties) > 0 {
		c.Properties = &properties
	}
	return c
}
