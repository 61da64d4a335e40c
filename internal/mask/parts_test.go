package mask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/mask"
)

// A credential in the blocks of one message is masked wherever it is cut, in the
// blocks and in the record that holds them.
func TestSplitOverBlocks(t *testing.T) {
	key := "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"
	m := mask.New()
	for cut := 1; cut < len(key); cut++ {
		parts := []string{"first the key " + key[:cut], key[cut:] + " is behind", "and more"}
		got, n := m.Parts(parts)
		all := strings.Join(got, "")
		if n == 0 || strings.Contains(all, key[5:12]) || strings.Contains(all, key[30:]) || !strings.HasPrefix(all, "first the key [") || !strings.HasSuffix(all, "] is behindand more") {
			t.Errorf("cut at %d: %q, %d", cut, got, n)
		}
		for _, between := range []string{`"},{"type":"text","text":"`, `"} , { "type": "input_text", "text": "`, `"},{"text":"`} {
			record := `{"role":"user","content":[{"type":"text","text":"` + strings.Join(parts, between) + `"}],"n":12}`
			got, _ := m.JSON([]byte(record))
			var value struct {
				Content []struct{ Text string }
				N       int
			}
			if err := json.Unmarshal(got, &value); err != nil || len(value.Content) != 3 || value.N != 12 {
				t.Fatalf("cut at %d: %s: %v", cut, got, err)
			}
			if text := string(got); strings.Contains(text, key[5:12]) || strings.Contains(text, key[30:]) || !strings.Contains(text, "is behind"+between+"and more") {
				t.Errorf("cut at %d: %s", cut, got)
			}
		}
	}
	// What has no form of its own is no credential because two blocks meet.
	for _, parts := range [][]string{{"the token", "= is what parsers call a word"}, {"password", ": see above1"}, {"a", ""}, {}} {
		if got, n := m.Parts(parts); n != 0 {
			t.Errorf("%q became %q", parts, got)
		}
	}
}
