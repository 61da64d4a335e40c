package dsh

import "strings"

// maxKey is where the writer cuts a workspace folder's name, without its marks.
const maxKey = 251

// projectKey is the name of a workspace's folder: runs of path separators and
// colons become one dash, leading dashes go, other units outside the portable
// set become ~XXXX. It loses information and is never decoded.
func projectKey(cwd []uint16) string {
	var b strings.Builder
	for i, u := range cwd {
		if !isSeparator(u) {
			writeUnit(&b, u)
			continue
		}
		if i == 0 || !isSeparator(cwd[i-1]) {
			b.WriteByte('-')
		}
	}
	key := strings.TrimLeft(b.String(), "-")
	if key == "" {
		key = "root"
	}
	return "--" + key[:min(len(key), maxKey)] + "--"
}

// encodeSegment is the name of a session's folder; no two ids share one.
func encodeSegment(id []uint16) string {
	var b strings.Builder
	for _, u := range id {
		writeUnit(&b, u)
	}
	if name := b.String(); name != "." && name != ".." {
		return name
	}
	return strings.ReplaceAll(b.String(), ".", "~002E")
}

func isSeparator(u uint16) bool { return u == '/' || u == '\\' || u == ':' }

func writeUnit(b *strings.Builder, u uint16) {
	const hex = "0123456789ABCDEF"
	switch {
	case u >= 'A' && u <= 'Z', u >= 'a' && u <= 'z', u >= '0' && u <= '9', u == '.', u == '_', u == '-':
		b.WriteByte(byte(u))
	default:
		b.WriteByte('~')
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[u>>shift&15])
		}
	}
}
