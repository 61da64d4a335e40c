package mask

import (
	"bytes"
	"encoding/json"
)

// JSON returns a record of a log with every credential in its strings masked,
// names of members included, and how many were. What is JSON stays JSON of the
// same structure: numbers are never touched. Of bytes that are no JSON text the
// credentials are masked as in any text. Without any the same slice is returned.
func (m *Masker) JSON(raw []byte) (masked []byte, n int) {
	if m == nil {
		return raw, 0
	}
	found := m.findBytes(raw)
	if over := m.seamed(raw); over != nil {
		found = united(append(found, over...))
	}
	if len(found) == 0 {
		return raw, 0
	}
	var b bytes.Buffer
	b.Grow(len(raw))
	if !json.Valid(raw) {
		at := 0
		for _, f := range found {
			b.Write(raw[at:f.Start])
			b.WriteString(f.mark())
			at = f.End
		}
		b.Write(raw[at:])
		return b.Bytes(), len(found)
	}
	within := false // a string
	marked := -1    // the finding whose mark was written last
	for i := 0; i < len(raw); {
		if c := raw[i]; !within || c == '"' {
			if c == '"' {
				within, marked = !within, -1
			}
			b.WriteByte(c)
			i++
			continue
		}
		size := 1
		if raw[i] == '\\' {
			if size = 2; raw[i+1] == 'u' {
				size = 6
			}
		}
		for len(found) > 0 && found[0].End <= i {
			found = found[1:]
		}
		if len(found) == 0 || found[0].Start >= i+size {
			b.Write(raw[i : i+size])
			i += size
			continue
		}
		if marked != found[0].Start {
			marked = found[0].Start
			b.WriteString(found[0].mark())
			n++
		}
		i += size
	}
	return b.Bytes(), n
}

// findBytes is Find for bytes, without a copy of all of them.
func (m *Masker) findBytes(raw []byte) []Finding {
	m.once.Do(m.prepare)
	var all []Finding
	for at := 0; at < len(raw); at += piece {
		from, to := max(0, at-overlap), min(len(raw), at+piece+overlap)
		for _, f := range m.find(string(raw[from:to]), false) {
			f.Start, f.End = f.Start+from, f.End+from
			all = append(all, f)
		}
	}
	return united(all)
}
