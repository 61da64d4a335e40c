package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/mask/masktest"
)

func TestKinds(t *testing.T) {
	m := New()
	for _, c := range masktest.All() {
		got, n := m.Text(c.Text())
		if p := masktest.Leaks(got, c.Secret); p != "" || n != 1 {
			t.Errorf("%s: %d masked, %q is left in %q", c.Kind, n, p, got)
			continue
		}
		f := m.Find(c.Text(), false)[0]
		if f.Kind != c.Kind {
			t.Errorf("%q is called %s, want %s", c.Text(), f.Kind, c.Kind)
		}
		if start, end := len(c.Before), len(c.Before)+len(c.Secret); f.Start > start || f.End < end || f.End > end+1 || start-f.Start > 1 {
			t.Errorf("%s: %d to %d of %q, want %d to %d", c.Kind, f.Start, f.End, c.Text(), start, end)
		}
		if want := fmt.Sprintf("[%s, %d characters, masked]", c.Kind, f.Points); !strings.Contains(got, want) {
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
	for name, disguise := range map[string]func(masktest.Credential) (text, secret string){
		"a JSON string": func(c masktest.Credential) (string, string) { return quote(c.Text()), c.Secret },
		"an argument in JSON": func(c masktest.Credential) (string, string) {
			return quote(`{"command":` + quote(c.Text()) + `}`), c.Secret
		},
		"a third depth": func(c masktest.Credential) (string, string) { return quote(quote(quote(c.Text()))), c.Secret },
		"Unicode escapes": func(c masktest.Credential) (string, string) {
			return c.Before + escaped(c.Secret) + c.After, escaped(c.Secret)
		},
		"behind a line end in JSON": func(c masktest.Credential) (string, string) {
			return `"x\n` + strings.Trim(quote(c.Text()), `"`) + `"`, c.Secret
		},
		"coloured": func(c masktest.Credential) (string, string) {
			return c.Before + "\x1b[01;31m\x1b[K" + c.Secret + "\x1b[m" + c.After, c.Secret
		},
		"coloured in the middle": func(c masktest.Credential) (string, string) {
			return c.Before + colour(c.Secret) + c.After, c.Secret[9:]
		},
		"with what nobody sees in it": func(c masktest.Credential) (string, string) {
			return c.Before + c.Secret[:9] + "\u200b\u2060" + c.Secret[9:] + c.After, c.Secret[9:]
		},
		"in a quotation of mail": func(c masktest.Credential) (string, string) {
			return "> said\n> " + strings.ReplaceAll(c.Text(), "\n", "\n> "), c.Secret
		},
		"indented": func(c masktest.Credential) (string, string) {
			return "\n\t    " + strings.ReplaceAll(c.Text(), "\n", "\n\t    "), c.Secret
		},
		"between texts of other kinds": func(c masktest.Credential) (string, string) {
			return "漢字…\n" + c.Text() + "\n\U0001F511 é", c.Secret
		},
	} {
		m := New()
		for _, c := range masktest.All() {
			text, secret := disguise(c)
			got, _ := m.Text(text)
			if p := masktest.Leaks(got, secret); p != "" {
				t.Errorf("%s, %s: %q is left of %q: %q", name, c.Kind, p, text, got)
			}
			// As a screen shows it.
			if p := masktest.Leaks(document.OneLine(got, 0), c.Secret); p != "" {
				t.Errorf("%s, %s: a screen shows %q: %q", name, c.Kind, p, got)
			}
		}
	}
}

func colour(s string) string { return s[:9] + "\x1b[31m" + s[9:] }

// A key that was broken over lines: only kinds that say by their beginning what they are.
func TestBrokenOverLines(t *testing.T) {
	m := New()
	for _, c := range masktest.All() {
		if len(c.Secret) < 30 || strings.ContainsAny(c.Secret, "\n") || !plainForm[c.Kind] {
			continue
		}
		for _, between := range []string{"\n", "\n    ", "\r\n\t", "\\\n  ", " │\n│ ", "\n> "} {
			for cut := 20; cut < len(c.Secret)-1; cut += 5 {
				text := c.Before + c.Secret[:cut] + between + c.Secret[cut:] + c.After
				got, _ := m.Text(text)
				if p := masktest.Leaks(got, c.Secret[:cut]) + masktest.Leaks(got, c.Secret[cut:]); p != "" {
					t.Errorf("%s broken at %d: %q is left in %q", c.Kind, cut, p, got)
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
	for _, c := range masktest.All() {
		words := strings.Repeat("the words before it are many ", 20)
		for _, text := range []string{words + c.Text() + words, words + strings.ReplaceAll(c.Text(), "\n", "\\n") + words} {
			for _, limit := range []int{12, 40, 240} {
				for at := len(words) - 200; at < len(words)+len(c.Text())+200; at += 1 + len(c.Text())/60 {
					from, to := document.Extent(text, at, limit)
					masked, moved, found := m.Around(text, from, to, at, false)
					snippet := document.Snippet(masked, moved, limit)
					if p := masktest.Leaks(snippet, c.Secret); p != "" {
						t.Fatalf("%s at %d of %d: %q is left in %q", c.Kind, at, limit, p, snippet)
					}
					want := strings.Contains(snippet, ", masked]") || strings.Contains(snippet, "["+c.Kind+", ")
					if shown := Shown(snippet, found); shown > 1 || want != (shown == 1) {
						t.Fatalf("%s at %d: %d shown in %q", c.Kind, at, shown, snippet)
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
		k := masktest.Key(1000+i, "", "\n")
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
				if line = strings.TrimSpace(line); len(line) == 64 && masktest.Leaks(snippet, line) != "" {
					t.Fatalf("at %d: %q", at, snippet)
				}
			}
		}
	}
}

// A text that was cut before it came here.
func TestHead(t *testing.T) {
	m := New()
	for _, c := range masktest.All() {
		for cut := len(c.Before) + 12; cut < len(c.Text()); cut++ {
			text := c.Text()[:cut]
			got, _ := m.Head(text)
			secret := c.Secret[:min(len(c.Secret), cut-len(c.Before))]
			secret, _, _ = strings.Cut(secret, "-----END")
			if _, body, ok := strings.Cut(secret, "KEY-----"); ok {
				secret = body
			}
			if p := masktest.Leaks(got, secret); len(strings.TrimSpace(secret)) >= shortened && p != "" && !tolerated(c, secret) {
				t.Errorf("%s cut at %d: %q is left in %q", c.Kind, cut, p, got)
				break
			}
		}
	}
}

// tolerated are beginnings that say nothing: a key's first line without any of
// the key, and a prefix that every key of its kind has.
func tolerated(c masktest.Credential, secret string) bool {
	return strings.HasPrefix(secret, "-----BEGIN") && len(secret) < 60 || strings.HasPrefix(secret, "github_pat_") && len(secret) < 20 ||
		strings.HasPrefix("AGE-SECRET-KEY-1", secret[:min(len(secret), 16)]) && len(secret) < 17
}

func TestJSON(t *testing.T) {
	m := New()
	for _, c := range masktest.All() {
		inner, _ := json.Marshal(map[string]any{"command": c.Text(), "n": 1.50})
		record, err := json.Marshal(map[string]any{
			"type": "tool", "text": c.Text(), "arguments": string(inner), c.Secret: []any{c.Text(), 12345678901, true, nil}, "plain": "kept \u2028 \\ \" as it is",
		})
		if err != nil {
			t.Fatal(err)
		}
		got, n := m.JSON(record)
		if p := masktest.Leaks(string(got), c.Secret); p != "" && (plainForm[c.Kind] || strings.Contains(c.Before, p)) {
			t.Errorf("%s: %q is left in %s", c.Kind, p, got)
		}
		if !json.Valid(got) || n == 0 {
			t.Errorf("%s: %d masked in %s", c.Kind, n, got)
			continue
		}
		if a, b := shape(t, record), shape(t, got); a != b {
			t.Errorf("%s: the shape was %s and is %s", c.Kind, a, b)
		}
		var v map[string]any
		_ = json.Unmarshal(got, &v)
		if v["plain"] != "kept \u2028 \\ \" as it is" {
			t.Errorf("%q", v["plain"])
		}
		if p := masktest.Leaks(v["text"].(string)+v["arguments"].(string), c.Secret); p != "" {
			t.Errorf("%s: %q is left of %q", c.Kind, p, v)
		}
	}
	// Its own name tells what a value is.
	for _, text := range []string{`{"password":"` + masktest.Random(90, 12, masktest.Alnum) + `7"}`, `{"a":"{\"db_password\": \"` + masktest.Random(91, 12, masktest.Alnum) + `7\"}"}`} {
		if got, n := m.JSON([]byte(text)); n != 1 || !json.Valid(got) {
			t.Errorf("%d in %s", n, got)
		}
	}
	plain := []byte(`{"a":"nothing of that kind","b":[1,2.50,"\u0041\n"]}`)
	if got, n := m.JSON(plain); n != 0 || !bytes.Equal(got, plain) {
		t.Errorf("%d, %s", n, got)
	}
	// Bytes that are no JSON are masked before anybody encodes them.
	broken := []byte("\xff{\"a\":\"" + masktest.All()[2].Secret + "\"")
	if got, n := m.JSON(broken); n != 1 || masktest.Leaks(string(got), masktest.All()[2].Secret) != "" || !bytes.HasPrefix(got, []byte("\xff{")) {
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
	c := masktest.All()[2]
	k := masktest.Key(77, "RSA ", "\n")
	for _, at := range []int{piece - 20, piece, piece + overlap - 20, piece + overlap, 2*piece - 1, 2*piece + 5} {
		text := strings.Repeat("x y z ", at/6) + c.Text() + " " + strings.Repeat("z y x ", (3*piece-at)/6) + k
		got, n := m.Text(text)
		if masktest.Leaks(got, c.Secret) != "" || n != 2 {
			t.Errorf("at %d: %d masked", at, n)
		}
	}
}

func TestNilMasksNothing(t *testing.T) {
	var m *Masker
	c := masktest.All()[2].Text()
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
	all := masktest.All()
	f.Add(uint8(2), "before ", " after", uint16(10), uint16(40))
	f.Add(uint8(26), "\x1b[31m", "\u200b\"", uint16(300), uint16(200))
	f.Add(uint8(3), "a\\n", "\\", uint16(0), uint16(5))
	f.Fuzz(func(t *testing.T, which uint8, before, after string, at, limit uint16) {
		c := all[int(which)%len(all)]
		if !plainForm[c.Kind] && c.Kind != "private-key" {
			return // its surroundings decide, and those are the fuzzer's
		}
		if len(before)+len(after) > 4096 || strings.Contains(before+after, "EXAMPLE") {
			return
		}
		// What touches it may make another word of it.
		text := before + "\n" + c.Secret + "\n" + after
		got, n := m.Text(text)
		if p := masktest.Leaks(got, c.Secret); p != "" && masktest.Leaks(before+after, c.Secret) == "" {
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
		if snippet := document.Snippet(masked, moved, size); masktest.Leaks(snippet, c.Secret) != "" && masktest.Leaks(before+after, c.Secret) == "" {
			t.Fatalf("a snippet of %d at %d shows %q", size, place, snippet)
		}
		record, _ := json.Marshal(map[string]string{"a": text})
		if out, _ := m.JSON(record); !json.Valid(out) || masktest.Leaks(string(out), c.Secret) != "" && masktest.Leaks(before+after, c.Secret) == "" {
			t.Fatalf("%s", out)
		}
	})
}
