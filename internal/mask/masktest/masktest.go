// Package masktest makes credentials of every kind for tests, and looks for what
// is left of one.
package masktest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// The credentials are made when the tests run, from an alphabet
// and a seed: none has ever opened anything, and none stands in this file.

// The alphabets.
const (
	digits = "0123456789"
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Alnum  = digits + small + large
	Hex    = "0123456789abcdef"
)

// Random returns n characters of an alphabet, always the same for a seed.
func Random(seed uint64, n int, alphabet string) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// Credential is a text with one secret in it, and the kind that it is called.
type Credential struct {
	Kind           string
	Before, Secret string
	After          string
}

// Text is the secret with what stands around it.

func (c Credential) Text() string { return c.Before + c.Secret + c.After }

// All returns one credential of each kind, and more of some.
func All() []Credential {
	jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"1234567890","name":"Ada","iat":1516239022}`)) + "." + Random(1, 43, Alnum)
	return []Credential{
		{"aws-access-token", "id ", "AK" + "IA" + Random(2, 16, large+"234567"), " of the account"},
		{"generic-api-key", "aws_secret_access_key = ", Random(3, 40, Alnum), "\n"},
		{"github-pat", "use ", "gh" + "p_" + Random(4, 36, Alnum), ", it is valid"},
		{"github-fine-grained-pat", "", "github" + "_pat_" + Random(5, 82, Alnum), ""},
		{"github-oauth", "(", "gh" + "o_" + Random(6, 36, Alnum), ")"},
		{"gitlab-pat", "token: ", "gl" + "pat-" + Random(7, 20, Alnum), "\n"},
		{"slack-bot-token", "\t", "xo" + "xb-" + Random(8, 12, digits) + "-" + Random(9, 12, digits) + Random(10, 24, Alnum), " "},
		{"stripe-access-token", "key=", "sk" + "_live_" + Random(11, 24, Alnum), "&x=1"},
		{"openai-api-key", "OPENAI ", "sk-" + "proj-" + Random(12, 74, Alnum) + "T3Blbk" + "FJ" + Random(13, 74, Alnum), "\n"},
		{"openai-api-key", "'", "sk-" + Random(14, 48, Alnum), "'"},
		{"anthropic-api-key", "x ", "sk-" + "ant-api03-" + Random(15, 93, Alnum) + "AA", "."},
		{"npm-access-token", "//registry/:_authToken=", "np" + "m_" + Random(16, 36, Alnum), "\n"},
		{"pypi-upload-token", "password = ", "py" + "pi-AgEIcHlwaS5vcmc" + Random(17, 90, Alnum), ""},
		{"gcp-api-key", "key: ", "AI" + "za" + Random(18, 35, Alnum), ","},
		{"google-oauth-secret", "", "GO" + "CSPX-" + Random(19, 28, Alnum), ""},
		{"jwt", "session ", jwt, " ended"},
		{"authorization", "Authorization: Bearer ", Random(20, 40, Alnum), "\r\n"},
		{"authorization", "authorization: basic ", base64.StdEncoding.EncodeToString([]byte("ada:" + Random(21, 12, Alnum))), "\n"},
		{"bearer-token", "with bearer ", Random(22, 32, Alnum), " it works"},
		{"url-credentials", "https://ada:", Random(23, 12, Alnum), "@example.org/x"},
		{"url-credentials", "postgres://app:", Random(24, 10, small+digits) + "7", "@db:5432/app"},
		{"password", "DB_PASSWORD=", "p" + Random(25, 9, small+digits) + "4!", "\n"},
		{"password", `{"password": "`, Random(26, 12, Alnum) + "3", `"}`},
		{"password", "login --password ", Random(27, 9, small) + "42", " now"},
		{"azure-storage-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", Random(28, 86, Alnum) + "==", ";EndpointSuffix=core.windows.net"},
		{"generic-api-key", `"client_secret": "`, Random(30, 40, Alnum), `"`},
		{"private-key", "the key:\n", Key(31, "RSA ", "\n"), "\nend"},
		{"private-key", "", Key(32, "OPENSSH ", "\n    "), "\n"},
		{"huggingface-access-token", "", "hf" + "_" + Random(33, 34, small), "\n"},
		{"sendgrid-api-token", " ", "SG" + "." + Random(34, 66, Alnum), "\n"},
		{"digitalocean-pat", " ", "dop" + "_v1_" + Random(35, 64, Hex), "\n"},
		{"age-secret-key", "", "AGE-SECRET" + "-KEY-1" + Random(36, 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"), "\n"},
	}
}

// Key makes what looks like a private key, a line of 64 characters on each line.
func Key(seed uint64, kind, end string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "PRIVATE" + " KEY-----" + end)
	for i := range uint64(12) {
		b.WriteString(Random(seed*100+i, 64, Alnum+"+/") + end)
	}
	b.WriteString(Random(seed, 30, Alnum) + "==" + end + "-----END " + kind + "PRIVATE" + " KEY-----")
	return b.String()
}

// piece is how many characters of a secret tell too much.
const piece = 8

// Leaks returns a piece of eight characters of a secret that a text holds; "" for none.
func Leaks(text, secret string) string {
	const n = piece
	if len(secret) < n {
		if strings.Contains(text, secret) {
			return secret
		}
		return ""
	}
	for i := 0; i+n <= len(secret); i++ {
		if p := secret[i : i+n]; strings.Contains(text, p) && !strings.Contains(strings.ToUpper(p), "PRIVATE") && !strings.Contains(p, "--") && !strings.HasPrefix(p, " KEY") {
			return p
		}
	}
	return ""
}

// Log returns a DSH log, as lines, of a session in which every credential stands
// wherever a session can have text of its own wording: title, prompt, tool's
// name, arguments, result, event type, preset. Each message holds the word walnut.
func Log(id, cwd string) []string {
	quote := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings and maps of strings
		}
		return string(b)
	}
	all := All()
	lines := []string{fmt.Sprintf(`{"type":"session","version":0,"id":%s,"createdAt":1772442000000,"cwd":%s,"delegationDepth":0,"agentPreset":%s}`, quote(id), quote(cwd), quote(all[2].Secret))}
	seq := 0
	add := func(typ, rest string) {
		lines = append(lines, fmt.Sprintf(`{"type":%s,"seq":%d,"time":%d,%s}`, quote(typ), seq, 1772442001000+int64(seq), rest))
		seq++
	}
	add("turn/start", `"data":{"turn":1}`)
	for i, c := range all {
		text := "walnut " + strings.Repeat("before it ", i) + c.Text() + strings.Repeat(" behind it", 30-i%30)
		add("user/message", fmt.Sprintf(`"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},"surfaceOp":"append"`, i, quote(text)))
		add("tool/call", fmt.Sprintf(`"data":{"turn":1,"step":1,"callId":%s,"name":%s,"arguments":%s}`, quote(fmt.Sprint("call-", i)), quote("bash"), quote(quote(map[string]string{"command": "walnut\n" + c.Text()}))))
		add("session/title", fmt.Sprintf(`"data":{"title":%s,"messageSeqs":[1],"source":{"kind":"fallback"}}`, quote("walnut title "+c.Text())))
	}
	add("tool/call", fmt.Sprintf(`"data":{"turn":1,"step":1,"callId":"named","name":%s,"arguments":"{}"}`, quote(all[2].Secret)))
	add("x/"+all[2].Secret, `"data":{},"ignorable":true`)
	add("session/title", fmt.Sprintf(`"data":{"title":%s,"messageSeqs":[1],"source":{"kind":"fallback"}}`, quote("walnut "+all[2].Text())))
	add("turn/end", `"data":{"turn":1,"reason":{"kind":"completed"}}`)
	return lines
}

// Left returns a piece of any credential that a text holds; "" for none.
func Left(text string) string {
	known := pieces()
	for i := 0; i+piece <= len(text); i++ {
		if kind, ok := known[text[i:i+piece]]; ok {
			return kind + ": " + text[i:i+piece]
		}
	}
	return ""
}

// pieces are those that Leaks looks for, of every credential, with its kind.
var pieces = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, c := range All() {
		for i := 0; i+piece <= len(c.Secret); i++ {
			if p := c.Secret[i : i+piece]; Leaks(p, p) != "" {
				all[p] = c.Kind
			}
		}
	}
	return all
})
