package dsh

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/yorehq/yore/reader"
)

// Layers of the agent's composition may put its sessions elsewhere: that of the
// machine, and one for each profile. What a layer computes, and a layer given on
// the command line, is not known here.
const (
	patchName   = "cordis.patch.yml"
	profilesDir = "profiles"
	maxPatch    = 1 << 20 // bytes of a layer that are read
	maxPatches  = 64      // layers that are looked at
)

// stores are the rows that keep sessions, by how their plugins are called, and the
// setting of each that says where.
var stores = map[string]string{"session-persistence-jsonl": "root", "session-persistence-sqlite": "path"}

// patched returns the folders and databases that layers below the agent's home
// name, each once.
func patched(home string) (places []string) {
	layers := []string{filepath.Join(home, patchName)}
	// The pattern is malformed only if the home is; then there are no profiles.
	profiles, _ := filepath.Glob(filepath.Join(home, profilesDir, "*", patchName))
	for _, path := range append(layers, profiles...)[:min(1+len(profiles), maxPatches)] {
		for _, place := range placesIn(path) {
			if !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return places
}

// placesIn reads one layer. One that cannot be read names nothing: the agent, and
// `yore setup`, complain of it.
func placesIn(path string) (places []string) {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPatch))
	var doc yaml.Node
	if err != nil || yaml.Unmarshal(text, &doc) != nil {
		return nil
	}
	var visit func(n *yaml.Node, depth int)
	visit = func(n *yaml.Node, depth int) {
		if depth > 16 {
			return
		}
		for _, row := range []string{plainText(n, "name"), plainText(n, "id")} {
			for store, setting := range stores {
				place := plainText(member(n, "config"), setting)
				if strings.HasSuffix(row, store) && filepath.IsAbs(place) {
					places = append(places, filepath.Clean(place))
				}
			}
		}
		for _, child := range n.Content {
			visit(child, depth+1)
		}
	}
	visit(&doc, 0)
	return places
}

// member returns the value of a key of a mapping, nil if there is none.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// plainText returns a member that is a plain text, "" for every other.
func plainText(n *yaml.Node, key string) string {
	v := member(n, key)
	if v == nil || v.Kind != yaml.ScalarNode || v.Tag != "!!str" {
		return ""
	}
	return v.Value
}
