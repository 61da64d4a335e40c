package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
)

func TestKinds(t *testing.T) {
	m := New()
	for _, c := range credentials() {
		got, n := m.Text(c.text())
		if p := leaks(got, c.secret); p != "" || n != 1 {
			t.Errorf("%s: %d masked, %q is left in %q", c.kind, n, p, got)
			continue
		}
		f := m.Find(c.text(), false)[0]
		if f.Kind != c.kind {
			t.Errorf("%q is called %s, want %s", c.text(), f.Kind, c.kind)
		}
		if start, end := len(c.before), len(c.before)+len(c.secret); f.Start > start || f.End < end || f.End > end+1 || start-f.Start > 1 {
			t.Errorf("%s: %d to %d of %q, want %d to %d", c.kind, f.Start, f.End, c.text(), start, end)
		}
		if want := fmt.Sprintf("[%s, %d characters, masked]", c.kind, f.Points); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// Every rule's patterns compile, and its keywords are of a kind that is looked for.
func TestRules(t *testing.T) {
	m := New()
	m.Text("x")
	if len(m.rules) < 230 {
		t.Errorf("only %d rules", len(m.rules))
	}
	for i := range m.rules {
		r := &m.rules[i]
		if r.form != own {
			r.compile()
		}
		for _, k := range r.keywords {
			if k != strings.ToLower(k) || len(k) < 2 {
				t.Errorf("%s: keyword %q", r.id, k)
			}
		}
	}
}

// What hides a credential from a pattern and not from a reader.
func TestDisguises(t *testing.T) {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	escaped := func(s string) string { // every letter as an escape
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return b.String()
	}
	for name, disguise := range map[string]func(credential) (text, secret string){
		"a JSON string":       func(c credential) (string, string) { return quote(c.text()), c.secret },
		"an argument in JSON": func(c credential) (string, string) { return quote(`{"command":` + quote(c.text()) + `}`), c.secret },
		"a third depth":       func(c credential) (string, string) { return quote(quote(quote(c.text()))), c.secret },
		"Unicode escapes":     func(c credential) (string, string) { return c.before + escaped(c.secret) + c.after, escaped(c.secret) },
		"behind a line end in JSON": func(c credential) (string, string) {
			return `"x\n` + strings.Trim(quote(c.text()), `"`) + `"`, c.secret
		},
		"coloured": func(c credential) (string, string) {
			return c.before + "\x1b[01;31m\x1b[K" + c.secret + "\x1b[m" + c.after, c.secret
		},
		"coloured in the middle": func(c credential) (string, string) { return c.before + colour(c.secret) + c.after, c.secret[9:] },
		"with what nobody sees in it": func(c credential) (string, string) {
			return c.before + c.secret[:9] + "\u200b\u2060" + c.secret[9:] + c.after, c.secret[9:]
		},
		"in a quotation of mail": func(c credential) (string, string) {
			return "> said\n> " + strings.ReplaceAll(c.text(), "\n", "\n> "), c.secret
		},
		"indented": func(c credential) (string, string) {
			return "\n\t    " + strings.ReplaceAll(c.text(), "\n", "\n\t    "), c.secret
		},
		"between texts of other kinds": func(c credential) (string, string) { return "漢字…\n" + c.text() + "\n\U0001F511 é", c.secret },
	} {
		m := New()
		for _, c := range credentials() {
			text, secret := disguise(c)
			got, _ := m.Text(text)
			if p := leaks(got, secret); p != "" {
				t.Errorf("%s, %s: %q is left of %q: %q", name, c.kind, p, text, got)
			}
			// As a screen shows it.
			if p := leaks(document.OneLine(got, 0), c.secret); p != "" {
				t.Errorf("%s, %s: a screen shows %q: %q", name, c.kind, p, got)
			}
		}
	}
}

func colour(s string) string { return s[:9] + "\x1b[31m" + s[9:] }

// A key that was broken over lines: only kinds that say by their beginning what they are.
func TestBrokenOverLines(t *testing.T) {
	m := New()
	for _, c := range credentials() {
		if len(c.secret) < 30 || strings.ContainsAny(c.secret, "\n") || !plainForm[c.kind] {
			continue
		}
		for _, between := range []string{"\n", "\n    ", "\r\n\t", "\\\n  ", " │\n│ ", "\n> "} {
			for cut := 20; cut < len(c.secret)-1; cut += 5 {
				text := c.before + c.secret[:cut] + between + c.secret[cut:] + c.after
				got, _ := m.Text(text)
				if p := leaks(got, c.secret[:cut]) + leaks(got, c.secret[cut:]); p != "" {
					t.Errorf("%s broken at %d: %q is left in %q", c.kind, cut, p, got)
				}
			}
		}
	}
}

var plainForm = map[string]bool{
	"github-pat": true, "github-oauth": true, "npm-access-token": true, "gcp-api-key": true, "digitalocean-pat": true,
	"huggingface-access-token": true, "github-fine-grained-pat": true, "age-secret-key": true, "sendgrid-api-token": true,
}

// A snippet may begin and end anywhere: no offset of it shows a piece.
func TestAroundAtEveryOffset(t *testing.T) {
	m := New()
	for _, c := range credentials() {
		words := strings.Repeat("the words before it are many ", 20)
		for _, text := range []string{words + c.text() + words, words + strings.ReplaceAll(c.text(), "\n", "\\n") + words} {
			for _, limit := range []int{12, 40, 240} {
				for at := len(words) - 200; at < len(words)+len(c.text())+200; at += 1 + len(c.text())/60 {
					from, to := document.Extent(text, at, limit)
					masked, moved, found := m.Around(text, from, to, at, false)
					snippet := document.Snippet(masked, moved, limit)
					if p := leaks(snippet, c.secret); p != "" {
						t.Fatalf("%s at %d of %d: %q is left in %q", c.kind, at, limit, p, snippet)
					}
					want := strings.Contains(snippet, ", masked]") || strings.Contains(snippet, "["+c.kind+", ")
					if shown := Shown(snippet, found); shown > 1 || want != (shown == 1) {
						t.Fatalf("%s at %d: %d shown in %q", c.kind, at, shown, snippet)
					}
				}
			}
		}
	}
}

// Without a credential the text is the same, and the place in it.
func TestAroundPlain(t *testing.T) {
	m := New()
	text := strings.Repeat("nothing of that kind ", 1000)
	if got, at, found := m.Around(text, 900, 1400, 1000, false); got != text || at != 1000 || found != nil {
		t.Errorf("at %d, %d found", at, len(found))
	}
}

// Many keys in a row shorten a text so much that what comes after them moves
// into sight: that is masked as well.
func TestAroundRowOfKeys(t *testing.T) {
	m := New()
	var b strings.Builder
	var secrets []string
	for i := range uint64(120) {
		k := key(1000+i, "", "\n")
		secrets = append(secrets, k)
		b.WriteString(k + "\n")
	}
	text := b.String()
	for _, at := range []int{0, len(text) / 2, len(text) - 1} {
		from, to := document.Extent(text, at, 2000)
		masked, moved, _ := m.Around(text, from, to, at, false)
		snippet := document.Snippet(masked, moved, 2000)
		for _, s := range secrets {
			for line := range strings.Lines(s) {
				if line = strings.TrimSpace(line); len(line) == 64 && leaks(snippet, line) != "" {
					t.Fatalf("at %d: %q", at, snippet)
				}
			}
		}
	}
}

// A text that was cut before it came here.
func TestHead(t *testing.T) {
	m := New()
	for _, c := range credentials() {
		for cut := len(c.before) + 12; cut < len(c.text()); cut++ {
			text := c.text()[:cut]
			got, _ := m.Head(text)
			secret := c.secret[:min(len(c.secret), cut-len(c.before))]
			secret, _, _ = strings.Cut(secret, "-----END")
			secret = secret[strings.Index(secret, "KEY-----")+1:]
			if p := leaks(got, secret); p != "" && !tolerated(c, secret) {
				t.Errorf("%s cut at %d: %q is left in %q", c.kind, cut, p, got)
				break
			}
		}
	}
}

// tolerated are beginnings that say nothing: a key's first line without any of
// the key, and a prefix that every key of its kind has.
func tolerated(c credential, secret string) bool {
	return strings.HasPrefix(secret, "-----BEGIN") && len(secret) < 60 || strings.HasPrefix(secret, "github_pat_") && len(secret) < 20 ||
		strings.HasPrefix("AGE-SECRET-KEY-1", secret[:min(len(secret), 16)]) && len(secret) < 17
}

func TestJSON(t *testing.T) {
	m := New()
	for _, c := range credentials() {
		inner, _ := json.Marshal(map[string]any{"command": c.text(), "n": 1.50})
		record, err := json.Marshal(map[string]any{
			"type": "tool", "text": c.text(), "arguments": string(inner), c.secret: []any{c.text(), 12345678901, true, nil}, "plain": "kept \u2028 \\ \" as it is",
		})
		if err != nil {
			t.Fatal(err)
		}
		got, n := m.JSON(record)
		if p := leaks(string(got), c.secret); p != "" && (plainForm[c.kind] || strings.Contains(c.before, p)) {
			t.Errorf("%s: %q is left in %s", c.kind, p, got)
		}
		if !json.Valid(got) || n == 0 {
			t.Errorf("%s: %d masked in %s", c.kind, n, got)
			continue
		}
		if a, b := shape(t, record), shape(t, got); a != b {
			t.Errorf("%s: the shape was %s and is %s", c.kind, a, b)
		}
		var v map[string]any
		_ = json.Unmarshal(got, &v)
		if v["plain"] != "kept \u2028 \\ \" as it is" {
			t.Errorf("%q", v["plain"])
		}
		if p := leaks(v["text"].(string)+v["arguments"].(string), c.secret); p != "" {
			t.Errorf("%s: %q is left of %q", c.kind, p, v)
		}
	}
	// Its own name tells what a value is.
	for _, text := range []string{`{"password":"` + random(90, 12, alnum) + `7"}`, `{"a":"{\"db_password\": \"` + random(91, 12, alnum) + `7\"}"}`} {
		if got, n := m.JSON([]byte(text)); n != 1 || !json.Valid(got) {
			t.Errorf("%d in %s", n, got)
		}
	}
	plain := []byte(`{"a":"nothing of that kind","b":[1,2.50,"\u0041\n"]}`)
	if got, n := m.JSON(plain); n != 0 || !bytes.Equal(got, plain) {
		t.Errorf("%d, %s", n, got)
	}
	// Bytes that are no JSON are masked before anybody encodes them.
	broken := []byte("\xff{\"a\":\"" + credentials()[2].secret + "\"")
	if got, n := m.JSON(broken); n != 1 || leaks(string(got), credentials()[2].secret) != "" || !bytes.HasPrefix(got, []byte("\xff{")) {
		t.Errorf("%d, %q", n, got)
	}
}

// shape is a JSON text's tokens without what its strings say.
func shape(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var b strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		switch v := token.(type) {
		case string:
			b.WriteString(`"" `)
		default:
			fmt.Fprintf(&b, "%v ", v)
		}
	}
}

// A text of any length is looked at in pieces: wherever a border falls, nothing
// is lost, and what is held beside the text stays small.
func TestLongText(t *testing.T) {
	m := New()
	c := credentials()[2]
	k := key(77, "RSA ", "\n")
	for _, at := range []int{piece - 20, piece, piece + overlap - 20, piece + overlap, 2*piece - 1, 2*piece + 5} {
		text := strings.Repeat("x y z ", at/6) + c.text() + " " + strings.Repeat("z y x ", (3*piece-at)/6) + k
		got, n := m.Text(text)
		if leaks(got, c.secret) != "" || n != 2 {
			t.Errorf("at %d: %d masked", at, n)
		}
	}
}

func TestNilMasksNothing(t *testing.T) {
	var m *Masker
	c := credentials()[2].text()
	if got, n := m.Text(c); got != c || n != 0 {
		t.Error(got)
	}
	if got, _ := m.JSON([]byte(c)); string(got) != c {
		t.Error(string(got))
	}
	if got, at, _ := m.Around(c, 0, len(c), 1, false); got != c || at != 1 {
		t.Error(got)
	}
}

// Whatever stands around it and wherever a snippet is cut.
func FuzzNothingLeaks(f *testing.F) {
	m := New()
	all := credentials()
	f.Add(uint8(2), "before ", " after", uint16(10), uint16(40))
	f.Add(uint8(26), "\x1b[31m", "\u200b\"", uint16(300), uint16(200))
	f.Add(uint8(3), "a\\n", "\\", uint16(0), uint16(5))
	f.Fuzz(func(t *testing.T, which uint8, before, after string, at, limit uint16) {
		c := all[int(which)%len(all)]
		if !plainForm[c.kind] && c.kind != "private-key" {
			return // its surroundings decide, and those are the fuzzer's
		}
		if len(before)+len(after) > 4096 || strings.Contains(before+after, "EXAMPLE") {
			return
		}
		// What touches it may make another word of it.
		text := before + "\n" + c.secret + "\n" + after
		got, n := m.Text(text)
		if p := leaks(got, c.secret); p != "" && leaks(before+after, c.secret) == "" {
			t.Fatalf("%q is left in %q", p, got)
		}
		if n == 0 {
			t.Fatalf("nothing masked in %q", text)
		}
		place := int(at) % len(text)
		for place > 0 && !utf8.RuneStart(text[place]) {
			place--
		}
		size := int(limit)%400 + 2
		from, to := document.Extent(text, place, size)
		masked, moved, _ := m.Around(text, from, to, place, false)
		if snippet := document.Snippet(masked, moved, size); leaks(snippet, c.secret) != "" && leaks(before+after, c.secret) == "" {
			t.Fatalf("a snippet of %d at %d shows %q", size, place, snippet)
		}
		record, _ := json.Marshal(map[string]string{"a": text})
		if out, _ := m.JSON(record); !json.Valid(out) || leaks(string(out), c.secret) != "" && leaks(before+after, c.secret) == "" {
			t.Fatalf("%s", out)
		}
	})
}
