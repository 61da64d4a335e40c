package mask

import "strings"

const password = "password"

// ours are the rules that are not gitleaks': where it has none, or where its own
// knows only some of the forms that are in use.
var ours = []rule{
	{id: "private-key", form: own, find: privateKey, keywords: []string{"-----begin"}},
	{id: "private-key", form: own, find: privateKeyTail, keywords: []string{"-----end"}},
	{id: "url-credentials", form: own, find: userInfo, keywords: []string{"://"}},
	{id: "authorization", form: own, find: authorization, keywords: []string{"authorization", "x-api-key", "x-auth-token", "x-goog-api-key", "private-token"}},
	{id: "bearer-token", form: own, find: bearer, keywords: []string{"bearer"}},
	{id: password, form: own, find: assigned, keywords: []string{"password", "passwd", "passphrase", "pwd", "sshpass"}},
	{id: "anthropic-api-key", pattern: `\bsk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}`, keywords: []string{"sk-ant-"}, form: leading, least: 30},
	{id: "openai-api-key", pattern: `\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}`, entropy: 3.5, keywords: []string{"sk-"}, form: leading, least: 23, allowed: []string{`^[a-z-]+$`}},
	{id: "google-oauth-token", pattern: `\bya29\.[A-Za-z0-9_-]{20,}`, keywords: []string{"ya29."}, form: leading, least: 25},
	{id: "google-oauth-secret", pattern: `\bGOCSPX-[A-Za-z0-9_-]{20,}`, keywords: []string{"gocspx-"}, form: leading, least: 27},
	{id: "google-refresh-token", pattern: `\b1//0[A-Za-z0-9_-]{30,}`, keywords: []string{"1//0"}, form: leading, least: 34},
	{id: "gcp-api-key", pattern: `\bAIza[A-Za-z0-9_-]{35}`, keywords: []string{"aiza"}, form: leading, least: 39},
	{id: "npm-access-token", pattern: `\bnpm_[A-Za-z0-9]{36}`, keywords: []string{"npm_"}, form: leading, least: 40},
	{id: "pypi-upload-token", pattern: `\bpypi-[A-Za-z0-9_-]{50,}`, keywords: []string{"pypi-"}, form: leading, least: 55},
	{id: "aws-access-token", pattern: `\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, entropy: 3, keywords: []string{"a3t", "akia", "asia", "abia", "acca"}, form: leading, least: 20, allowed: []string{`EXAMPLE$`}},
	{id: "xai-api-key", pattern: `\bxai-[A-Za-z0-9]{40,}`, keywords: []string{"xai-"}, form: leading, least: 44},
	{id: "groq-api-key", pattern: `\bgsk_[A-Za-z0-9]{40,}`, keywords: []string{"gsk_"}, form: leading, least: 44},
	{id: "azure-storage-key", pattern: `\bAccountKey=([A-Za-z0-9+/]{40,}={0,2})`, keywords: []string{"accountkey="}, form: leading, least: 51},
	{id: "azure-sas-signature", pattern: `\bsig=([A-Za-z0-9%+/_-]{40,}={0,2})`, entropy: 3.5, keywords: []string{"sig="}, form: leading, least: 44},
}

// maxURL is how far an address is followed.
const maxURL = 512

// userInfo finds the password, or a name that is a token, in an address.
func userInfo(t string, at, end int, cut bool) (int, int, bool) {
	if at == 0 || !wordByte(t[at-1]) {
		return 0, 0, false
	}
	colon := -1
	limit := min(len(t), end+maxURL)
	for i := end; ; i++ {
		if i == len(t) && cut && colon >= 0 && i-colon > 4 && !number(t[colon+1:i]) {
			return colon + 1, i, true // the sign that would end it is cut off
		}
		if i == limit {
			return 0, 0, false
		}
		switch c := t[i]; {
		case c == ':' && colon < 0:
			colon = i
		case c == '@' && colon >= 0:
			secret := t[colon+1 : i]
			return colon + 1, i, secret != "" && !placeholder(secret)
		case c == '@':
			return end, i, i-end >= 20 && hasDigit(t[end:i]) && !placeholder(t[end:i])
		case c <= ' ' || strings.IndexByte("/\"'`<>\\?#,()[]", c) >= 0:
			return 0, 0, false
		}
	}
}

// authorization finds what a header of HTTP is worth, in any of its spellings:
// a line, a member of an object, an argument.
func authorization(t string, at, end int, cut bool) (int, int, bool) {
	i := skip(t, end, 3, "\"'`] \t")
	if i == len(t) || t[i] != ':' && t[i] != '=' {
		return 0, 0, false
	}
	i = skip(t, i, 6, ":=> \t\"'`")
	for _, scheme := range []string{"bearer ", "basic ", "token ", "digest ", "apikey "} {
		if foldedPrefix(t[i:], scheme) {
			i = skip(t, i+len(scheme), 4, " \t\"'`")
			break
		}
	}
	return valueOf(t, i, 8, cut)
}

// bearer finds a token behind the word alone.
func bearer(t string, at, end int, cut bool) (int, int, bool) {
	if at > 0 && wordByte(t[at-1]) || end == len(t) || !space(t[end]) && t[end] != ':' {
		return 0, 0, false
	}
	return valueOf(t, skip(t, end, 4, ": \t\"'`"), 16, cut)
}

// valueOf takes a run of characters that no word of a language is.
func valueOf(t string, i, least int, cut bool) (int, int, bool) {
	end := tokenEnd(t, i, i+reach)
	s := t[i:end]
	s = strings.TrimRight(s, ".:,")
	if cut && end == len(t) {
		least = min(least, 4)
	}
	ok := len(s) >= least && hasDigit(s) && !placeholder(s) && entropy(s) >= 2
	return i, i + len(s), ok
}

// assigned finds the value that is given to a name with a password's word in it:
// NAME=value, name: value, "name": "value", --name value.
func assigned(t string, at, end int, cut bool) (int, int, bool) {
	i := end
	for n := 0; n < 20 && i < len(t) && wordByte(t[i]); n++ {
		i++
	}
	flag := at >= 2 && (t[at-1] == '-' || wordByte(t[at-1])) && isFlag(t[:at]) || foldedPrefix(t[at:], "sshpass -p")
	if foldedPrefix(t[at:], "sshpass -p") {
		i = end + len(" -p")
	}
	i = skip(t, i, 2, "\"'`]")
	before := i
	i = skip(t, i, 3, " \t")
	spaced := i > before
	tight := true
	switch {
	case i == len(t):
		return 0, 0, false
	case strings.HasPrefix(t[i:], "==") || strings.HasPrefix(t[i:], "=~"):
		return 0, 0, false
	case strings.HasPrefix(t[i:], ":=") || strings.HasPrefix(t[i:], "=>"):
		i, tight = i+2, false
	case t[i] == '=' || t[i] == ':':
		tight = t[i] == '=' && !spaced
		i++
	case flag && spaced:
	default:
		return 0, 0, false
	}
	start := i
	i = skip(t, i, 3, " \t")
	tight = tight && (i == start || flag)
	if i == len(t) {
		return 0, 0, false
	}
	if q := t[i]; q == '"' || q == '\'' || q == '`' {
		return quotedValue(t, i+1, q, cut)
	}
	stop := i
	for stop < len(t) && stop-i < maxURL && t[stop] > ' ' && t[stop] < 0x7f && strings.IndexByte("\"'`,;&<>)}]\\", t[stop]) < 0 {
		stop++
	}
	v := t[i:stop]
	least := 6
	if cut && stop == len(t) {
		least = 3
	}
	if len(v) < least || placeholder(v) || strings.IndexByte(v, '(') >= 0 || !hasDigit(v) && !symbols(v) || entropy(v) < 2 {
		return 0, 0, false
	}
	// A name of a program is no password, unless it stands as only a value does.
	if names(v) && !(tight && hasDigit(v)) {
		return 0, 0, false
	}
	return i, stop, true
}

func quotedValue(t string, i int, q byte, cut bool) (int, int, bool) {
	limit := min(len(t), i+maxURL)
	stop := i
	for stop < limit && t[stop] != q && t[stop] > ' ' && t[stop] != 0x7f {
		stop++
	}
	open := cut && stop == len(t)
	if !open && (stop == limit || t[stop] != q) {
		return 0, 0, false
	}
	v := t[i:stop]
	least := 6
	if open {
		least = 3
	}
	if len(v) < least || placeholder(v) || entropy(v) < 2 {
		return 0, 0, false
	}
	return i, stop, hasDigit(v) || symbols(v) || innerCase(v)
}

// skip passes over at most n bytes of a set.
func skip(t string, i, n int, set string) int {
	for ; n > 0 && i < len(t) && strings.IndexByte(set, t[i]) >= 0; n-- {
		i++
	}
	return i
}

// isFlag reports whether the word that a text ends in is the beginning of an
// option, --db-password.
func isFlag(t string) bool {
	i := len(t)
	for i > 0 && len(t)-i < 30 && (wordByte(t[i-1]) || t[i-1] == '-') {
		i--
	}
	return strings.HasPrefix(t[i:], "--")
}

// placeholder reports what stands for a credential that somebody else has to
// fill in, or that was masked already.
func placeholder(s string) bool {
	if strings.IndexByte("$<{%[*(", s[0]) >= 0 || strings.Contains(s, "${") || strings.Contains(s, "{{") || strings.Contains(s, "***") || strings.Contains(s, "...") {
		return true
	}
	if strings.Trim(s, "xX") == "" || strings.Trim(s, s[:1]) == "" {
		return true
	}
	lower := strings.ToLower(s)
	for _, w := range []string{"your_", "your-", "<your", "example", "changeme", "placeholder", "redacted", "process.env", "os.environ", "os.getenv"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func number(s string) bool { return strings.Trim(s, "0123456789") == "" }

// symbols reports a character that no identifier and no path of a program has.
func symbols(s string) bool { return strings.ContainsAny(s, "!@#$%^&*+=?~") }

// innerCase reports a capital behind a small letter.
func innerCase(s string) bool {
	for i := 1; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' && 'a' <= s[i-1] && s[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// names reports an identifier, or several with dots between them.
func names(s string) bool {
	for _, p := range strings.Split(s, ".") {
		if p == "" || '0' <= p[0] && p[0] <= '9' {
			return false
		}
		for _, c := range []byte(p) {
			if !wordByte(c) {
				return false
			}
		}
	}
	return true
}

// Opaque reports whether a single word is more likely a piece of a credential
// than a word: long, and letters and digits in no order.
func Opaque(word string) bool {
	letters := strings.ContainsFunc(word, func(r rune) bool { return r < 0x80 && wordByte(byte(r)) && (r < '0' || r > '9') })
	return len(word) > 24 || len(word) >= 8 && hasDigit(word) && letters
}
