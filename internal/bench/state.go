//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
)

// object is an object of a state file.
type object = map[string]any

// addToState adds instances to the one that a state file holds, with the same
// private state and the same attributes, less those that are given.
func addToState(path string, attributes []object) error {
	content, err := os.ReadFile(path) //nolint:gosec // made by the bench itself
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var state struct {
		Version          int    `json:"version"`
		TerraformVersion string `json:"terraform_version"`
		Serial           int    `json:"serial"`
		Lineage          string `json:"lineage"`
		Resources        []struct {
			Mode      string   `json:"mode"`
			Type      string   `json:"type"`
			Name      string   `json:"name"`
			Provider  string   `json:"provider"`
			Instances []object `json:"instances"`
		} `json:"resources"`
	}
	if err := decoder.Decode(&state); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if len(state.Resources) != 1 || len(state.Resources[0].Instances) != 1 {
		return fmt.Errorf("%s does not hold one instance of one resource", path)
	}
	resource := &state.Resources[0]
	first := resource.Instances[0]
	for i, given := range attributes {
		one := maps.Clone(first)
		one["index_key"] = 1 + i
		one["attributes"] = with(first["attributes"], given)
		if one["identity"] != nil {
			one["identity"] = object{"id": given["id"]}
		}
		resource.Instances = append(resource.Instances, one)
	}
	if content, err = json.Marshal(state); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// with is all attributes, where those that are given are as given.
func with(all any, given object) object {
	merged := object{}
	if known, ok := all.(object); ok {
		maps.Copy(merged, known)
	}
	maps.Copy(merged, given)
	return merged
}
