package toolset_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/yorehq/yore/toolset"
)

// arguments are what a tool takes, without words for the model.
type arguments struct {
	Type       any                  `json:"type,omitempty"`
	Enum       []string             `json:"enum,omitempty"`
	Items      *arguments           `json:"items,omitempty"`
	Properties map[string]arguments `json:"properties,omitempty"`
	Required   []string             `json:"required,omitempty"`
}

// breaks says what was accepted and no longer is.
func (now arguments) breaks(was arguments, at string) (all []string) {
	if now.Type != was.Type {
		all = append(all, fmt.Sprintf("%s was %v and is %v", at, was.Type, now.Type))
	}
	for _, w := range was.Enum {
		if !slices.Contains(now.Enum, w) {
			all = append(all, fmt.Sprintf("%s no longer takes %s", at, w))
		}
	}
	if was.Enum == nil && now.Enum != nil {
		all = append(all, at+" took anything")
	}
	if was.Items != nil && now.Items != nil {
		all = append(all, now.Items.breaks(*was.Items, at+"[]")...)
	}
	for name, p := range was.Properties {
		if q, ok := now.Properties[name]; ok {
			all = append(all, q.breaks(p, at+"."+name)...)
		} else {
			all = append(all, fmt.Sprintf("%s.%s is gone", at, name))
		}
	}
	for _, name := range now.Required {
		if !slices.Contains(was.Required, name) {
			all = append(all, fmt.Sprintf("%s.%s is required", at, name))
		}
	}
	return all
}

// TestSchemaVersion holds names and arguments to what the version promises:
// what was once accepted stays so, or the version rises.
func TestSchemaVersion(t *testing.T) {
	now := map[string]arguments{}
	for _, tool := range toolset.Catalogue() {
		var a arguments
		if err := json.Unmarshal(tool.Schema, &a); err != nil {
			t.Fatal(err)
		}
		now[tool.Name] = a
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", fmt.Sprintf("schema-%d.json", toolset.SchemaVersion))
	if old, err := os.ReadFile(path); err == nil {
		was := map[string]arguments{}
		if err := json.Unmarshal(old, &was); err != nil {
			t.Fatal(err)
		}
		for name, a := range was {
			b, ok := now[name]
			if !ok {
				t.Errorf("%s is gone: raise toolset.SchemaVersion", name)
				continue
			}
			for _, what := range b.breaks(a, name) {
				t.Errorf("%s: raise toolset.SchemaVersion (docs/versioning.md)", what)
			}
		}
	}
	if !t.Failed() {
		compare(t, path, string(text)+"\n") // more is accepted: -update
	}
}

// The comparison notices what it is for.
func TestSchemaBreaks(t *testing.T) {
	was := arguments{Type: "object", Required: []string{"query"}, Properties: map[string]arguments{
		"query": {Type: "string"}, "match": {Type: "string", Enum: []string{"auto", "literal"}}, "ids": {Type: "array", Items: &arguments{Type: "string"}},
	}}
	for _, c := range []struct {
		name   string
		change func(*arguments)
		want   int
	}{
		{"nothing", func(*arguments) {}, 0},
		{"one more", func(a *arguments) { a.Properties["n"] = arguments{Type: "integer"} }, 0},
		{"no longer required", func(a *arguments) { a.Required = nil }, 0},
		{"gone", func(a *arguments) { delete(a.Properties, "ids") }, 1},
		{"required", func(a *arguments) { a.Required = []string{"query", "match"} }, 1},
		{"another type", func(a *arguments) { a.Properties["query"] = arguments{Type: "integer"} }, 1},
		{"a value less", func(a *arguments) { a.Properties["match"] = arguments{Type: "string", Enum: []string{"auto"}} }, 1},
		{"values of a list", func(a *arguments) {
			a.Properties["ids"] = arguments{Type: "array", Items: &arguments{Type: "integer"}}
		}, 1},
	} {
		now := was
		now.Properties = map[string]arguments{}
		for name, p := range was.Properties {
			now.Properties[name] = p
		}
		c.change(&now)
		if got := now.breaks(was, "tool"); len(got) != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
}
