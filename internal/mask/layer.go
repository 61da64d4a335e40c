package mask

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
)

// layer is a text as one reader of it would see it, and where each of its bytes
// stands in the text that it was made from.
type layer struct {
	text string
	at   []int32 // of each byte and of the end; nil: the same place
}

// origin returns the place in the first text of a range in this one.
func (l *layer) origin(from, to int) (int, int) {
	if l.at == nil {
		return from, to
	}
	return int(l.at[from]), int(l.at[to])
}

// builder makes a layer out of another.
type builder struct {
	of   *layer
	text strings.Builder
	at   []int32
}

func (l *layer) builder() *builder {
	b := &builder{of: l, at: make([]int32, 0, len(l.text)+1)}
	b.text.Grow(len(l.text))
	return b
}

// keep takes over the bytes from i to j as they are.
func (b *builder) keep(i, j int) {
	b.text.WriteString(b.of.text[i:j])
	for ; i < j; i++ {
		b.at = append(b.at, b.place(i))
	}
}

// put adds a character that stands for what begins at i.
func (b *builder) put(r rune, i int) {
	n := b.text.Len()
	b.text.WriteRune(r)
	for n = b.text.Len() - n; n > 0; n-- {
		b.at = append(b.at, b.place(i))
	}
}

func (b *builder) place(i int) int32 {
	if b.of.at == nil {
		return int32(i)
	}
	return b.of.at[i]
}

func (b *builder) layer() layer {
	b.at = append(b.at, b.place(len(b.of.text)))
	return layer{b.text.String(), b.at}
}

// visible leaves out what shows nothing. changed is false, and nothing is made,
// where all of it shows.
func (l *layer) visible() (out layer, changed bool) {
	var b *builder
	kept := 0
	for i := 0; i < len(l.text); {
		c := l.text[i]
		if ' ' <= c && c < 0x7f {
			i++
			continue
		}
		n := document.Unseen(l.text[i:])
		if n == 0 {
			_, n = utf8.DecodeRuneInString(l.text[i:])
			i += n
			continue
		}
		if b == nil {
			b = l.builder()
		}
		b.keep(kept, i)
		i += n
		kept = i
	}
	if b == nil {
		return *l, false
	}
	b.keep(kept, len(l.text))
	return b.layer(), true
}

// unescaped resolves the escapes of JSON strings wherever a backslash stands.
func (l *layer) unescaped() (out layer, changed bool) {
	t := l.text
	i := strings.IndexByte(t, '\\')
	if i < 0 {
		return *l, false
	}
	b := l.builder()
	kept := 0
	for i >= 0 && i < len(t) {
		r, n := escape(t[i:])
		if n > 0 {
			changed = true
			b.keep(kept, i)
			b.put(r, i)
			kept = i + n
			i = kept
		} else {
			i++
		}
		next := strings.IndexByte(t[min(i, len(t)):], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	if !changed {
		return *l, false
	}
	b.keep(kept, len(t))
	return b.layer(), true
}

// escape reads one escape of a JSON string at the beginning of s; n is 0 where
// there is none.
func escape(s string) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b', 'f':
		return ' ', 2
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			return 0, 0
		}
		if utf16.IsSurrogate(r) {
			if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
				if low, ok := hex4(s[8:]); ok {
					if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
						return pair, 12
					}
				}
			}
			return utf8.RuneError, 6
		}
		return r, 6
	}
	return 0, 0
}

func hex4(s string) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range []byte(s[:4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
