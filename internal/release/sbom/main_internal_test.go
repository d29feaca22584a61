package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// A binary, here this test, is told with its version, its settings, and each module
// that is in it.
func TestWrite(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sbom.json")
	if err := write(binary, "v1.2.3+x", file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d cyclonedx.BOM
	if err := json.Unmarshal(text, &d); err != nil || d.BOMFormat != "CycloneDX" || d.SpecVersion != cyclonedx.SpecVersion1_6 {
		t.Fatalf("%v: %s", err, text)
	}
	product := d.Metadata.Component
	if !strings.HasPrefix(product.PackageURL, "pkg:golang/github.com/vcard/terraform-provider-vcard@") || !strings.HasSuffix(product.PackageURL, "@v1.2.3%2Bx") {
		t.Errorf("the product is %s", product.PackageURL)
	}
	if !slices.Contains(*product.Properties, cyclonedx.Property{Name: "go:compiler", Value: "gc"}) {
		t.Errorf("the settings are %v", product.Properties)
	}
	if std := (*d.Components)[0]; std.Name != "std" || !strings.HasPrefix(std.Version, "1.") {
		t.Errorf("the first component is %v", std)
	}
	if err := write(file, "v1.2.3", file); err == nil {
		t.Error("what is no binary has a document")
	}
}
