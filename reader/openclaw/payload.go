package openclaw

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// The agent's own bounds, in bytes: a compressed row is at most maxPacked long
// and holds at most maxRow; an archive at most maxArchive, compressed little more.
const (
	maxPacked  = 4 << 20
	maxRow     = 4 << 20
	maxArchive = 64 << 20
	maxCold    = maxArchive + 1<<20
	maxWindow  = 64 << 20 // of the compressor, for an archive
)

// A chunk of rows is fetched before any of it is handed on.
const (
	chunkRows  = 256
	chunkBytes = 4 << 20
)

// record is one entry of a transcript as it was written.
type record struct {
	seq     int64
	value   []byte // valid until the next one; nil if it could not be had
	created int64  // epoch milliseconds
	clipped bool
	rowid   int64  // of a row that is too long to be kept; 0: it is not
	reason  string // why it could not be had; "": it is whole or clipped
}

// unpacker makes a decoder of zstd that takes a bounded amount of memory. It has
// no goroutines of its own.
var unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRow), zstd.WithDecoderMaxWindow(maxRow*2))
})

// unpacked returns what a compressed row holds; size is what it says itself.
func unpacked(packed []byte, size int64) ([]byte, error) {
	if size < 1 || size > maxRow {
		return nil, fmt.Errorf("a row says that it holds %d bytes", size)
	}
	d, err := unpacker()
	if err != nil {
		return nil, err
	}
	text, err := d.DecodeAll(packed, make([]byte, 0, size))
	if err == nil && int64(len(text)) != size {
		err = errors.New("a row holds another number of bytes than it says")
	}
	return text, err
}

// errChunk ends a query when a chunk is full.
var errChunk = errors.New("the chunk is full")

// stored is a row as it is in the database.
type stored struct {
	record
	row, plain, packed, size int64 // the last three are lengths; -1: none
	bytes                    []byte
}

// chunk fetches the rows behind a seq, as many as a chunk holds.
func (s *store) chunk(ctx context.Context, id session.ID, after int64) ([]record, error) {
	packed, size := `NULL`, `NULL`
	if s.zstd {
		packed, size = `event_zstd`, `event_utf8_bytes`
	}
	// Of long values the length alone is asked for: they are opened one by one.
	query := `SELECT seq, rowid, created_at, octet_length(event_json), octet_length(` + packed + `), ` + size + `,
		CASE WHEN event_json IS NULL THEN CASE WHEN octet_length(` + packed + `) < ` + most + ` THEN ` + packed + ` END
			WHEN octet_length(event_json) < ` + most + ` THEN event_json END
		FROM transcript_events WHERE session_id = ? AND seq > ? ORDER BY seq`
	var list []stored
	held := int64(0)
	err := s.db.Each(ctx, query, []any{string(id), after}, func(row rows.Row) error {
		r := stored{record: record{seq: row.Int(0), created: row.Int(2)}, row: row.Int(1), plain: -1, packed: -1, size: row.Int(5), bytes: row.Bytes(6)}
		if row.IsInt(3) {
			r.plain = row.Int(3)
		} else if row.IsInt(4) {
			r.packed = row.Int(4)
		}
		list = append(list, r)
		if held += max(int64(len(r.bytes)), r.size); len(list) >= chunkRows || held >= chunkBytes || r.bytes == nil {
			return errChunk
		}
		return nil
	})
	if err != nil && !errors.Is(err, errChunk) {
		return nil, err
	}
	all := make([]record, 0, len(list))
	for i := range list {
		r, err := s.record(ctx, &list[i])
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// record makes a record of a row.
func (s *store) record(ctx context.Context, r *stored) (record, error) {
	var err error
	switch {
	case r.plain >= 0 && r.bytes != nil:
		r.value = r.bytes
	case r.plain >= 0:
		return r.record, s.long(ctx, r)
	case r.packed < 0:
		r.reason = "a row holds nothing"
	case r.packed > maxPacked:
		r.reason = "a compressed row is longer than the agent makes any"
	default:
		if r.bytes == nil {
			if r.bytes, err = s.db.Whole(ctx, "transcript_events", "event_zstd", r.row, maxPacked); err != nil {
				return r.record, err
			}
		}
		if r.value, err = unpacked(r.bytes, r.size); err != nil {
			r.value, r.reason = nil, "a compressed row cannot be read"
		}
	}
	return r.record, nil
}

// long reads a long row as a line of a log is read: what lies deep in it may end
// early.
func (s *store) long(ctx context.Context, r *stored) error {
	v, err := s.db.Value(ctx, "transcript_events", "event_json", r.row)
	if errors.Is(err, rows.ErrTooLong) {
		r.reason = "a row is longer than is read"
		return nil
	}
	if err != nil {
		return err
	}
	defer v.Close()
	line, err := jsonl.NewLines(rows.Line(v), linelog.Kept()).Next()
	if err != nil {
		return err
	}
	if line.Clipped || line.Text == nil {
		r.rowid = r.row
	}
	if r.value, r.clipped = line.Text, line.Clipped; line.Text == nil {
		r.reason = "a row holds more than can be kept of it"
	}
	return nil
}

// whole returns the bytes of a record's row, of which only a part was kept.
func (s *store) whole(ctx context.Context, r *record) ([]byte, error) {
	return s.db.Whole(ctx, "transcript_events", "event_json", r.rowid, reader.MostWhole)
}

// each visits the records of a session behind a seq, in order. What is visited
// stood in the database as it was given.
func (s *store) each(ctx context.Context, e *entry, after int64, visit func(*record) error) error {
	if e.archive.name != "" {
		return s.thawed(ctx, e, after, visit)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := s.chunk(ctx, e.Header.ID, after)
		if err == nil && !s.db.Steady() {
			err = rows.ErrChanging
		}
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if err := visit(&list[i]); err != nil {
				return err
			}
		}
		after = list[len(list)-1].seq
	}
}

// coldName is how the agent names an archive: by its hash.
var coldName = regexp.MustCompile(`^[a-f0-9]{64}\.jsonl\.zst$`)

// frozen reads an archive's bytes and checks them.
func (s *store) frozen(ctx context.Context, a archive) (packed []byte, err error) {
	problem := func(reason string) error { return reader.Unreadable(s.path, 0, 0, "%s", reason) }
	switch {
	case a.bytes < 0 || a.bytes > maxCold:
		return nil, problem("an archived transcript is longer than the agent makes any")
	case a.inside:
		if packed, err = s.db.Whole(ctx, "session_transcript_cold_archives", "archive_blob", a.rowid, maxCold); err != nil {
			return nil, err
		}
	case !coldName.MatchString(a.name):
		return nil, problem("an archived transcript has no name of the agent's")
	default:
		agent := filepath.Dir(filepath.Dir(s.path))
		f, _, err := reader.OpenRegular(filepath.Join(agent, sessionsDir, coldDir, a.name))
		if err != nil {
			return nil, problem("an archived transcript is not there or cannot be opened")
		}
		defer f.Close()
		if packed, err = io.ReadAll(io.LimitReader(f, maxCold+1)); err != nil {
			return nil, err
		}
	}
	if sum := sha256.Sum256(packed); int64(len(packed)) != a.bytes || hex.EncodeToString(sum[:]) != a.sum {
		return nil, problem("an archived transcript is not what the agent put there")
	}
	return packed, nil
}

// thawed is each for a transcript in an archive: lines of JSON, of which those of
// kind event hold an entry each, as text.
func (s *store) thawed(ctx context.Context, e *entry, after int64, visit func(*record) error) error {
	packed, err := s.frozen(ctx, e.archive)
	if err != nil {
		return err
	}
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer d.Close()
	damaged := func(reason string) error {
		return reader.Unreadable(reader.PartPath(s.path, e.Name), 0, 0, "%s", reason)
	}
	in := bufio.NewReaderSize(io.LimitReader(d, maxArchive), 64<<10)
	last := int64(-1)
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return damaged("an archived transcript cannot be decompressed")
		}
		if len(bytes.TrimSpace(text)) > 0 {
			var line struct {
				Kind, SessionID string
				Row             struct {
					Seq       int64  `json:"seq"`
					EventJSON string `json:"event_json"`
					CreatedAt int64  `json:"created_at"`
				}
			}
			broken := json.Unmarshal(text, &line) != nil
			if line.Kind == "event" {
				last = line.Row.Seq
			}
			switch {
			case broken, first && (line.Kind != "header" || line.SessionID != string(e.Header.ID)):
				return damaged("an archived transcript is not of the known form")
			case line.Kind == "event" && line.Row.Seq > after:
				if err := visit(&record{seq: line.Row.Seq, value: []byte(line.Row.EventJSON), created: line.Row.CreatedAt}); err != nil {
					return err
				}
			}
		}
		if err != nil && last != e.last {
			return damaged("an archived transcript ends early")
		}
		if err != nil {
			return nil
		}
	}
}

// errEnough ends a pass that has found what it wanted.
var errEnough = errors.New("enough")

// first returns the first entry of a transcript if that is a header, else nil.
func (s *store) first(ctx context.Context, e entry) (value []byte, err error) {
	see := func(r *record) error {
		if r.reason == "" && jsonl.Valid(r.value) && jsonl.IsObject(r.value) && jsonl.Is(jsonl.Field(r.value, "type"), "session") {
			value = r.value
		}
		return errEnough
	}
	if e.archive.name != "" {
		err = s.thawed(ctx, &e, -1, see)
	} else {
		err = s.one(ctx, e.Header.ID, `ORDER BY seq LIMIT 1`, see)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return value, err
}

// one visits the rows of a session that an order and a limit choose; a row that
// is not short is left out.
func (s *store) one(ctx context.Context, id session.ID, order string, visit func(*record) error) error {
	packed, size := `NULL`, `NULL`
	if s.zstd {
		packed, size = `CASE WHEN octet_length(event_zstd) < `+most+` THEN event_zstd END`, `event_utf8_bytes`
	}
	query := `SELECT seq, CASE WHEN octet_length(event_json) < ` + most + ` THEN event_json END, ` + packed + `, ` + size +
		` FROM transcript_events WHERE session_id = ? ` + order
	return s.db.Each(ctx, query, []any{string(id)}, func(row rows.Row) error {
		r := record{seq: row.Int(0), value: row.Bytes(1)}
		if r.value == nil && row.IsBlob(2) {
			var err error
			if r.value, err = unpacked(row.Bytes(2), row.Int(3)); err != nil {
				r.reason = "a compressed row cannot be read"
			}
		}
		return visit(&r)
	})
}
