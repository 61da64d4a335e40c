package mask

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// The credentials of these tests are made when the tests run, from an alphabet
// and a seed: none has ever opened anything, and none stands in this file.

const (
	digits = "0123456789"
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum  = digits + small + large
	hexa   = "0123456789abcdef"
)

func random(seed uint64, n int, alphabet string) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// credential is a text with one secret in it.
type credential struct {
	kind           string
	before, secret string
	after          string
}

func (c credential) text() string { return c.before + c.secret + c.after }

func credentials() []credential {
	jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"1234567890","name":"Ada","iat":1516239022}`)) + "." + random(1, 43, alnum)
	return []credential{
		{"aws-access-token", "id ", "AK" + "IA" + random(2, 16, large+"234567"), " of the account"},
		{"generic-api-key", "aws_secret_access_key = ", random(3, 40, alnum), "\n"},
		{"github-pat", "use ", "gh" + "p_" + random(4, 36, alnum), ", it is valid"},
		{"github-fine-grained-pat", "", "github" + "_pat_" + random(5, 82, alnum), ""},
		{"github-oauth", "(", "gh" + "o_" + random(6, 36, alnum), ")"},
		{"gitlab-pat", "token: ", "gl" + "pat-" + random(7, 20, alnum), "\n"},
		{"slack-bot-token", "\t", "xo" + "xb-" + random(8, 12, digits) + "-" + random(9, 12, digits) + random(10, 24, alnum), " "},
		{"stripe-access-token", "key=", "sk" + "_live_" + random(11, 24, alnum), "&x=1"},
		{"openai-api-key", "OPENAI ", "sk-" + "proj-" + random(12, 74, alnum) + "T3Blbk" + "FJ" + random(13, 74, alnum), "\n"},
		{"openai-api-key", "'", "sk-" + random(14, 48, alnum), "'"},
		{"anthropic-api-key", "x ", "sk-" + "ant-api03-" + random(15, 93, alnum) + "AA", "."},
		{"npm-access-token", "//registry/:_authToken=", "np" + "m_" + random(16, 36, alnum), "\n"},
		{"pypi-upload-token", "password = ", "py" + "pi-AgEIcHlwaS5vcmc" + random(17, 90, alnum), ""},
		{"gcp-api-key", "key: ", "AI" + "za" + random(18, 35, alnum), ","},
		{"google-oauth-secret", "", "GO" + "CSPX-" + random(19, 28, alnum), ""},
		{"jwt", "session ", jwt, " ended"},
		{"authorization", "Authorization: Bearer ", random(20, 40, alnum), "\r\n"},
		{"authorization", "authorization: basic ", base64.StdEncoding.EncodeToString([]byte("ada:" + random(21, 12, alnum))), "\n"},
		{"bearer-token", "with bearer ", random(22, 32, alnum), " it works"},
		{"url-credentials", "https://ada:", random(23, 12, alnum), "@example.org/x"},
		{"url-credentials", "postgres://app:", random(24, 10, small+digits) + "7", "@db:5432/app"},
		{"password", "DB_PASSWORD=", "p" + random(25, 9, small+digits) + "4!", "\n"},
		{"password", `{"password": "`, random(26, 12, alnum) + "3", `"}`},
		{"password", "login --password ", random(27, 9, small) + "42", " now"},
		{"azure-storage-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", random(28, 86, alnum) + "==", ";EndpointSuffix=core.windows.net"},
		{"generic-api-key", `"client_secret": "`, random(30, 40, alnum), `"`},
		{"private-key", "the key:\n", key(31, "RSA ", "\n"), "\nend"},
		{"private-key", "", key(32, "OPENSSH ", "\n    "), "\n"},
		{"huggingface-access-token", "", "hf" + "_" + random(33, 34, small), "\n"},
		{"sendgrid-api-token", " ", "SG" + "." + random(34, 66, alnum), "\n"},
		{"digitalocean-pat", " ", "dop" + "_v1_" + random(35, 64, hexa), "\n"},
		{"age-secret-key", "", "AGE-SECRET" + "-KEY-1" + random(36, 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"), "\n"},
	}
}

// key makes what looks like a private key, a line of 64 characters on each line.
func key(seed uint64, kind, end string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "PRIVATE" + " KEY-----" + end)
	for i := range uint64(12) {
		b.WriteString(random(seed*100+i, 64, alnum+"+/") + end)
	}
	b.WriteString(random(seed, 30, alnum) + "==" + end + "-----END " + kind + "PRIVATE" + " KEY-----")
	return b.String()
}

// leaks returns a piece of eight characters of a secret that a text holds; "" for none.
func leaks(text, secret string) string {
	const n = 8
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
