// Command sbom writes what a Go binary was built from as a CycloneDX document.
//
// usage: sbom BINARY VERSION FILE
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

// document is the part of CycloneDX 1.6 that a binary's own record fills.
type document struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

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
	text, err := json.MarshalIndent(describe(info, version), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // it is published
}

func describe(info *debug.BuildInfo, version string) document {
	product := newComponent("application", info.Main.Path, version)
	for _, setting := range info.Settings {
		product.Properties = append(product.Properties, property{"go:" + strings.TrimPrefix(setting.Key, "-"), setting.Value})
	}
	d := document{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Component: product},
		Components: []component{newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, module := range info.Deps {
		used := cmp.Or(module.Replace, module)
		library := newComponent("library", used.Path, used.Version)
		library.Properties = []property{{"go:sum", used.Sum}}
		d.Components = append(d.Components, library)
	}
	return d
}

func newComponent(kind, path, version string) component {
	return component{Type: kind, Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + url.QueryEscape(version)}
}
