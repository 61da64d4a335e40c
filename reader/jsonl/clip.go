package jsonl

// Bounds say how much of a line is kept, in bytes of JSON.
type Bounds struct {
	Line  int // a longer line is clipped while it streams by
	Text  int // a string keeps this much
	Total int // beyond it, lists end early and strings are short
	Late  int // what a string keeps beyond Total
	Most  int // beyond it, there is no text

	// Depths from which elements and members may be dropped; the line's own
	// brackets have depth 1. What stands above is what a record is known by.
	Elements, Members int
}

// Kept returns what a document can use, and something more, with the depths at
// which lists and objects may end early.
func Kept(elements, members int) Bounds {
	return Bounds{
		Line: 4 << 20, Text: 8<<20 + 64<<10, Total: 9 << 20, Late: 4 << 10, Most: 24 << 20,
		Elements: elements, Members: members,
	}
}

// deep is a depth at which nothing means anything any more. Values below it are
// emptied once Total is reached.
const deep = 64

// clipper shortens one line of JSON as it streams by: strings are cut, and when
// that is not enough, lists end early. From valid JSON it makes valid JSON;
// what it drops is not checked.
type clipper struct {
	Bounds
	out     []byte
	dropped bool
	broken  bool // it is no JSON
	full    bool // it holds more than can be kept

	open   nest  // the open brackets, without the dropped ones
	quoted bool  // inside a string
	length int   // of that string
	cut    bool  // the rest of that string is dropped
	escape int   // bytes of an escape still to come; escapeLetter: the letter
	drop   bool  // everything is dropped up to the end of the innermost bracket
	below  int64 // brackets that are open in what is dropped
}

const (
	escapeLetter = 5
	escapeDigits = 4
)

func (c *clipper) reset() {
	*c = clipper{Bounds: c.Bounds, out: c.out[:0], open: nest{bits: c.open.bits[:0]}}
}

// feed takes the next piece of the line.
func (c *clipper) feed(p []byte) {
	if need := len(c.out) + len(p); need > cap(c.out) && !c.full && !c.broken {
		// By doubling: append would grow a large slice in many small steps.
		c.out = append(make([]byte, 0, max(need, 2*cap(c.out))), c.out...)
	}
	for i := 0; i < len(p) && !c.broken && !c.full; i++ {
		if c.quoted {
			i += c.inside(p[i:]) - 1
		} else {
			c.structure(p[i])
		}
		c.full = len(c.out) > c.Most
	}
}

// inside takes at least one byte of a string and returns how many it took.
func (c *clipper) inside(p []byte) int {
	n := 0
	if c.escape == 0 {
		for n < len(p) && p[n] != '"' && p[n] != '\\' {
			n++
		}
	}
	if n > 0 {
		c.keep(p[:n])
		return n
	}
	b := p[0]
	switch {
	case c.escape == escapeLetter && b == 'u':
		c.escape = escapeDigits
	case c.escape == escapeLetter:
		c.escape = 0
	case c.escape > 0:
		c.escape--
	case b == '"':
		c.quoted = false
		if !c.drop {
			c.out = append(c.out, b)
		}
		return 1
	default:
		// An escape is kept or dropped as a whole.
		c.escape = escapeLetter
		if c.length >= c.limit() {
			c.cut, c.dropped = true, true
		}
	}
	if !c.drop && !c.cut {
		c.out = append(c.out, b)
		c.length++
	}
	return 1
}

// keep takes plain bytes of a string.
func (c *clipper) keep(p []byte) {
	if c.drop || c.cut {
		return
	}
	if room := c.limit() - c.length; len(p) > room {
		room = max(room, 0)
		// Not inside a character.
		for room < len(p) && p[room]&0xC0 == 0x80 {
			room++
		}
		if room < len(p) {
			c.cut, c.dropped = true, true
		}
		p = p[:room]
	}
	c.out = append(c.out, p...)
	c.length += len(p)
}

func (c *clipper) limit() int {
	if len(c.out)-c.length > c.Total {
		return c.Late
	}
	return c.Text
}

// structure takes one byte outside of strings.
func (c *clipper) structure(b byte) {
	switch b {
	case '"':
		c.quoted, c.length, c.cut, c.escape = true, 0, false, 0
	case '{', '[':
		if c.drop {
			c.below++
			return
		}
		c.open.push(b == '{')
		if c.open.depth > deep && len(c.out) > c.Total {
			c.out = append(c.out, b)
			c.drop, c.dropped = true, true
			return
		}
	case '}', ']':
		if c.drop && c.below > 0 {
			c.below--
			return
		}
		if c.open.depth == 0 || c.open.object() != (b == '}') {
			c.broken = true
			return
		}
		c.open.pop()
		c.drop = false
	case ',':
		if !c.drop && c.ends() {
			c.drop, c.dropped = true, true
		}
	case ' ', '\t', '\r':
		if n := len(c.out); n > 0 && c.out[n-1] == ' ' {
			return
		}
		b = ' '
	}
	if !c.drop {
		c.out = append(c.out, b)
	}
}

// ends reports whether the list or object at hand gets no further entries.
func (c *clipper) ends() bool {
	depth := c.open.depth
	if depth == 0 || len(c.out) <= c.Total {
		return false
	}
	if c.open.object() {
		return depth >= c.Members
	}
	return depth >= c.Elements
}
