package reader

import (
	"errors"
	"io"
)

// ErrInflated says that compressed bytes hold more text than an Inflation lets out.
var ErrInflated = errors.New("the compressed bytes hold far more text than any log of their size")

// How much text compressed bytes may hold. The logs of clients that were run shrink to
// a fifth up to a fiftieth. A frame made for it can stand for thirty thousand times
// its size, by which a file that anybody can send would take hours, and a line in it
// more memory than there is.
const (
	inflationFree = 256 << 20 // bytes of text, of however few bytes: one result of 200 MB may be one letter
	inflationEach = 256       // and for each byte beyond these
)

// Inflation bounds how much text comes out of compressed bytes in one reading,
// however many frames they are in. It is for one goroutine.
type Inflation struct {
	left, each int64
	more       bool // was asked for than is let out
}

// NewInflation returns the bound for an agent's log.
func NewInflation() *Inflation { return &Inflation{left: inflationFree, each: inflationEach} }

// InflationOf returns a bound of so many bytes of text, whatever they come out of.
func InflationOf(text int64) *Inflation { return &Inflation{left: text} }

// Reader returns what a decoder gives of so many compressed bytes, which add to what
// may come out. Behind that a read is ErrInflated, if anything is there.
func (i *Inflation) Reader(decoder io.Reader, packed int64) io.Reader {
	i.left += i.each * packed
	return &inflating{i, decoder}
}

// Exceeded reports whether a read has been ErrInflated.
func (i *Inflation) Exceeded() bool { return i.more }

type inflating struct {
	*Inflation
	decoder io.Reader
}

func (r *inflating) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.decoder.Read(p)
	if r.left -= int64(n); r.left < 0 {
		n, r.left, r.more = n-1, 0, true
		return n, ErrInflated
	}
	return n, err
}
