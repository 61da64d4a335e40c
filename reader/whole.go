package reader

// MostWhole is how long a record may be that is given as it was written, in bytes.
// Its reader holds it once, and masking and rendering a few times more; a log can
// hold a line of any length, and a call for it must not take the process down.
const MostWhole = 256 << 20

// Room returns room for the bytes of a record between two offsets of a file, or of
// its text; a *Problem if it is longer than MostWhole.
func Room(path string, start, end int64) ([]byte, error) {
	if n := end - start; n > MostWhole {
		return nil, Unreadable(path, 0, start, "the record has %d bytes, and at most %d are given as they stand", n, MostWhole)
	}
	return make([]byte, end-start), nil
}
