package claude

import (
	"strings"
	"time"
	"unicode/utf16"

	"github.com/yorehq/yore/reader"
)

var (
	_ reader.Placer = (*Reader)(nil)
	_ reader.Loner  = (*Reader)(nil)
)

// Alone implements reader.Loner: a subagent has its description beside it.
func (*Reader) Alone(src reader.Source, _ reader.Position) bool {
	return !isSubagent(src.Root, src.Path)
}

// longName is the length beyond which the agent ends a folder's name in a hash
// that is not made again here.
const longName = 200

// Places implements reader.Placer: the agent names a project's folder after the
// directory that it was started in, every unit but a letter or a digit a dash. A
// session may have gone on from another directory, so others can hold one too.
func (*Reader) Places(workspace string, _ time.Time) (folders []string, others reader.Elsewhere) {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(workspace)) {
		if u < 128 && (u >= '0' && u <= '9' || u|0x20 >= 'a' && u|0x20 <= 'z') {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	if b.Len() == 0 || b.Len() > longName {
		return nil, reader.Possible
	}
	return []string{b.String()}, reader.Possible
}
