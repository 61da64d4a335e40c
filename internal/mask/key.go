package mask

import "strings"

// maxKey is how many bytes a private key has at most.
const maxKey = 48 << 10

// A line of a key has at least this many characters of base64.
const keyLine = 16

// privateKey finds a block from its first line to its last, or, where that is
// not there, as far as lines go on that can be a key's.
func privateKey(t string, at, end int, cut bool) (int, int, bool) {
	body, ok := border(t, at, end)
	if !ok {
		if cut && end == len(t) {
			return at, end, true
		}
		return 0, 0, false
	}
	limit := min(len(t), body+maxKey)
	if i := strings.Index(t[body:limit], "-----END"); i >= 0 {
		if stop, ok := border(t, body+i, body+i+len("-----END")); ok && longestRun(t[body:body+i]) >= keyLine {
			return at, stop, true
		}
	}
	stop, last := body, body
	for i := body; i < limit; {
		run := i
		for run < limit && base64Byte(t[run]) {
			run++
		}
		switch n := run - i; {
		case n > 0 && cut && run == len(t):
			return at, run, true
		case n >= keyLine || n > 0 && stop > body && last == stop && (run == limit || !wordBehind(t[run:])):
			stop = run
		case n > 0:
			return at, stop, stop > body
		}
		last = stop
		next := run + skipped(t[run:limit])
		if next == run {
			break
		}
		i = next
	}
	return at, stop, stop > body || cut && strings.TrimLeft(t[body:], "\r\n ") == ""
}

// privateKeyTail finds the end of a key whose beginning is not there.
func privateKeyTail(t string, at, end int, cut bool) (int, int, bool) {
	stop, ok := border(t, at, end)
	if !ok {
		return 0, 0, false
	}
	i := at
	least := max(0, at-maxKey)
	from := at
	for i > least {
		c := t[i-1]
		if base64Byte(c) {
			run := i
			for run > least && base64Byte(t[run-1]) {
				run--
			}
			if i-run < keyLine && from < at {
				break
			}
			i, from = run, run
			continue
		}
		if strings.IndexByte(" \t\r\n>|*#\"'+,\\", c) < 0 {
			break
		}
		i--
	}
	return from, stop, longestRun(t[from:at]) >= keyLine
}

// border returns the end of a block's first or last line that begins at at.
func border(t string, at, end int) (int, bool) {
	line := t[end:min(len(t), end+100)]
	i := strings.Index(line, "PRIVATE KEY")
	if i < 0 || strings.Trim(line[:i], " ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return 0, false
	}
	rest := strings.TrimPrefix(line[i+len("PRIVATE KEY"):], " BLOCK")
	if !strings.HasPrefix(rest, "-----") {
		return 0, false
	}
	return end + len(line) - len(rest) + len("-----"), true
}

// skipped returns how much of s is what stands between the lines of a key.
func skipped(s string) int {
	return len(s) - len(strings.TrimLeft(s, " \t\r\n>|*#\"',\\│"))
}

// wordBehind reports whether more follows on the line.
func wordBehind(s string) bool {
	s = strings.TrimLeft(s, " \t")
	return s != "" && s[0] != '\n' && s[0] != '\r'
}

func base64Byte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '='
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, c := range []byte(s) {
		if run++; !base64Byte(c) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
