package setup

import (
	"testing"
)

// Whatever a file holds, an edit adds one server and changes nothing else, or
// is refused; taken out again, nothing is left of it.
func FuzzEdit(f *testing.F) {
	for i, text := range []string{
		"", "{}", `{"mcpServers":{"x":{}},"a":[{}]}`, "a = 1\n[b]\n", "x = \"\"\"\n[c]\n\"\"\"\n", "[mcp_servers]\nz={}\n", "- id: a\n", "- insert:\n  - {name: x}\n# c\n", dshBare, codexBare, "", "\r \n",
	} {
		f.Add(i%3, text)
	}
	f.Add(6, settings)
	f.Add(7, settings)
	f.Add(8, settings)
	f.Add(8, loose)
	f.Fuzz(func(t *testing.T, kind int, text string) {
		form := []format{claudeForm(), tomlFile{}, yamlFile{}, piForm(), copilotForm(), kimiForm(), geminiForm(), openCodeForm(), openClawForm()}[(kind%9+9)%9]
		to := Target{Claude, "file", form}
		before := []byte(text)
		server := full
		server.Name = "fuzz"
		after, err := form.add(before, server)
		if err != nil || to.verify(before, after, "fuzz", &server) != nil {
			return
		}
		all, err := form.entries(after)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range all {
			if e.Name == "fuzz" {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%d entries in %q", n, after)
		}
		back, err := form.remove(after, "fuzz")
		if err != nil {
			t.Fatalf("%v: %q", err, after)
		}
		if err := to.verify(before, back, "fuzz", nil); err != nil {
			t.Fatalf("%v: %q", err, back)
		}
	})
}
