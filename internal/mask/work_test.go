package mask

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/mask/masktest"
)

// What is no credential, however much it looks like one, stays: hashes, ids,
// pictures, and programs that speak of passwords.
func TestKept(t *testing.T) {
	m := New()
	sum := fmt.Sprintf("%x", sha1.Sum([]byte("x")))
	for _, text := range []string{
		"commit " + sum, "index 3f1a2b4..9c8d7e6 100644", "session 5ae95e1c-7b1d-4d0e-9a55-1e1d0c7e9d10",
		"sha256:" + masktest.Random(50, 64, masktest.Hex), "go.sum h1:" + masktest.Random(51, 43, masktest.Alnum) + "=",
		"data:image/png;base64," + masktest.Random(52, 4000, masktest.Alnum+"+/"), `{"tool_use_id":"toolu_` + masktest.Random(53, 24, masktest.Alnum) + `"}`,
		`{"uuid":"0f0f5d1e-2f0e-4d55-8a5b-0d4c8d0a1c11","requestId":"req_` + masktest.Random(54, 24, masktest.Alnum) + `"}`,
		"password := os.Getenv(\"DB_PASSWORD\")", "password = getpass.getpass()", `"password": "string"`, "type Password string",
		"if password == other.password {", "PASSWORD=$DB_PASSWORD", "PASSWORD=${DB_PASSWORD}", "password: <your password>", "Authorization: Bearer $TOKEN",
		"Authorization: Bearer <token>", "Authorization: Bearer YOUR_TOKEN", "https://$USER:$PASS@host/", "git@github.com:ada/x.git", "http://localhost:8080/a@b", "ssh://git@host/x",
		"key := sha1.Sum(data)", "for key, value := range pairs {", "the token bucket is empty", "keyboard: qwertz", "public_key: ssh-ed25519", "-----BEGIN PRIVATE KEY-----",
		"-----BEGIN CERTIFICATE-----\n" + masktest.Random(55, 64, masktest.Alnum) + "\n-----END CERTIFICATE-----", "sk-learn and sk-image are packages", "they eyed the keys", "bearer of bad news: nobody",
		"AKIAIOSFODNN7EXAMPLE", "x-api-key: ${API_KEY}", "the basic authorization scheme",
	} {
		if got, n := m.Text(text); n != 0 || got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// texts are the project's own samples and questions: no credential is in them.
func texts(t testing.TB) (all []string) {
	for _, pattern := range []string{"../../testdata/*/*", "../../testdata/*/*/*", "../../testdata/*/*/*/*", "../demo/*/*/*", "../../*.go", "../*/*.go", "../../docs/*.md", "../../docs/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil && !strings.Contains(name, "gitleaks.go") && !strings.Contains(name, "internal/mask/") {
				all = append(all, string(text))
			}
		}
	}
	return all
}

// Counts, so that a change of the rules shows what it does to text that holds no
// credential: how much is masked, and how many of the rules' patterns are run.
func TestOrdinaryText(t *testing.T) {
	m := New()
	m.Text("x")
	size, masked, run, files := 0, 0, 0, 0
	used := map[string]bool{}
	for _, text := range texts(t) {
		files++
		size += len(text)
		for _, f := range m.Find(text, false) {
			masked++
			t.Logf("%s: %q", f.Kind, text[max(0, f.Start-30):min(len(text), f.End+10)])
		}
		s := scan{Masker: m}
		s.text(text)
		run += s.ran.len()
		for i := range m.rules {
			if s.ran[i>>6]>>(i&63)&1 != 0 {
				used[m.rules[i].id] = true
			}
		}
	}
	if size < 1<<20 {
		t.Fatalf("only %d bytes in %d files", size, files)
	}
	t.Logf("%d bytes in %d files: %d masked, %d patterns run, of %d rules", size, files, masked, run, len(used))
	const mayMask, mayUse = 3, 12
	if masked > mayMask {
		t.Errorf("%d masked, at most %d", masked, mayMask)
	}
	if perFile := float64(run) / float64(files); perFile > 0.5 {
		t.Errorf("%.1f patterns a file are run, at most 0.5", perFile)
	}
	if len(used) > mayUse {
		t.Errorf("%d rules are used, at most %d", len(used), mayUse)
	}
}

func BenchmarkOrdinaryText(b *testing.B) {
	m := New()
	all := texts(b)
	size := 0
	for _, t := range all {
		size += len(t)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, t := range all {
			m.Find(t, false)
		}
	}
}
