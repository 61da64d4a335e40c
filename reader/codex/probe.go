package codex

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// headerBytes is how far into a file's text a header is looked for.
const headerBytes = 1 << 20

// probe is what the beginning of a file tells.
type probe struct {
	meta
	values int        // seen
	copied session.ID // the second record is the header of this other thread: lines of it follow
	form   form
	size   int64 // of the file
}

// look reads the beginning of a file, up to two records, or as far as the
// session's facts are spread. It returns ErrPending when they may still come.
func look(ctx context.Context, path string) (probe, error) {
	p := probe{meta: meta{created: -1, inheritedUpTo: -1, release: newest}}
	t, err := openText(path, 0, 0, headerBytes)
	if err != nil {
		return p, err
	}
	defer t.close()
	p.form, p.size = t.form, t.stamp.Size
	stated, first := false, int64(-1)
	for {
		v, err := t.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p, err
		}
		if v.none {
			continue
		}
		r := parseRecord(v.x, v.text)
		p.values++
		if p.values == 1 {
			first = r.time
		}
		switch {
		case r.is(metaType) && jsonl.Filled(r.in.id) && p.values <= 2: // what comes later must not change whose log it is
			m := parseMeta(&r)
			if stated {
				if p.values == 2 && m.id != p.id {
					p.copied = m.id
				}
				break
			}
			if m.cwd == "" {
				m.cwd = p.cwd
			}
			p.meta, stated = m, true
		case p.cwd == "":
			p.cwd = folderIn(&r)
		}
		if stated && p.cwd != "" && p.values > 1 {
			break
		}
	}
	if !stated {
		// A log without its beginning: the file's name says whose it is and when it
		// was made. No later record may, since it may not be there yet.
		seg, _ := segmentOf(filepath.Base(path))
		p.id, p.created = session.ID(seg), first
		if ms, ok := bornAt(seg); ok {
			p.created = ms
		}
	}
	switch {
	case p.values == 0 && t.early && p.size < headerBytes:
		return p, reader.ErrPending
	case p.values == 0 && t.torn != "":
		return p, reader.Unreadable(path, 0, 0, "%s", t.torn)
	case p.values < 2 && p.form == plain && p.size < headerBytes:
		return p, reader.ErrPending
	case p.values == 0 || p.id == "":
		return p, reader.Unreadable(path, 1, 0, "no record states which thread this is")
	}
	return p, nil
}

var folderPattern = regexp.MustCompile(`<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)`)

// folderIn finds the workspace in a record of a log whose header does not state it.
func folderIn(r *record) string {
	switch {
	case r.is(contextType):
		return jsonl.Text(r.in.x.Field(r.payload, "cwd"))
	case !r.is(itemType) || !jsonl.Is(r.in.typ, "message"):
		return ""
	}
	for _, b := range contentTexts(r.in.x, r.in.content) {
		if !strings.HasPrefix(strings.TrimSpace(b.text), "<environment_context>") {
			continue
		}
		if m := folderPattern.FindStringSubmatch(b.text); m != nil {
			return strings.TrimSpace(m[1] + m[2])
		}
	}
	return ""
}

// Identify implements reader.Reader. A thread without a second record is not
// taken for a session yet, nor is a fork before its first line of its own. How
// much came from the parent is counted, which takes reading those lines.
func (*Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	t, err := resolve(ctx, root, path)
	h := t.header()
	switch {
	case err != nil:
		return h, err
	case t.pending:
		return h, reader.ErrPending
	}
	if h.SeedLength, err = t.seed(ctx); err != nil {
		return h, err
	}
	if err := h.Validate(); err != nil {
		return h, reader.Unreadable(t.path(t.Primary), 1, 0, "the header breaks a rule")
	}
	return h, nil
}

// seed counts the leading events that came from another thread.
func (t *thread) seed(ctx context.Context) (int64, error) {
	first := t.first
	// A fork goes on from a base, or begins with a copy; one that the client has
	// migrated from the old mode to the new begins with a copy too.
	if t.own == 0 && first.copied == "" && (first.forkedFrom == "" || first.base.Seg != "") {
		return 0, nil
	}
	d := newDecoder(t)
	var border border
	end := false
	_, err := t.run(ctx, d, mark{}, mark{part: -1}, func(k int, v *value, r *record) bool {
		switch {
		case k < t.own:
		case t.own > 0:
			end = true
		case v.none:
		case first.inheritedUpTo >= 0 && r.ordinal >= first.inheritedUpTo:
			end = true // a migration states it, too, and counts what is the thread's own
		case border.own(&first.meta, r):
			end = true
		}
		return !end
	}, nil)
	switch {
	case err != nil:
		return 0, err
	case !end && t.own == 0 && first.form == plain:
		return 0, reader.ErrPending
	}
	if d.next == 1 && t.own == 0 {
		return 0, nil // nothing was copied behind the thread's own header
	}
	return d.next, nil
}

// border finds the first line of a fork's own behind the lines that were copied
// into its file. Those are all stamped with the time of the fork.
type border struct {
	lines int
	fork  int64 // when the copy was made
}

// slack is how far apart the times of one instant may lie, in milliseconds.
const slack = 2000

func (b *border) own(m *meta, r *record) bool {
	b.lines++
	if b.lines == 1 {
		return false // the thread's own header stands before the copy
	}
	if b.lines == 2 {
		b.fork = r.time
	}
	turn, hasTurn := bornAt(jsonl.Text(r.in.turn))
	made, hasMade := bornAt(string(m.id))
	switch {
	case hasTurn && hasMade && turn < made:
		return false // whatever it names: a migration writes the fork's own id into copied lines
	case r.is(eventType) && jsonl.Is(r.in.thread, string(m.id)):
		return true
	case hasTurn && hasMade:
		if r.is(contextType) || r.isEvent("task_started", "turn_started") {
			return true // the id says when a turn began, to the millisecond
		}
	case r.isEvent("task_started", "turn_started"):
		// Of a copied line the time of the start is older than its stamp.
		if s, ok := jsonl.Natural(r.in.started); ok && r.time >= 0 {
			if age := r.time - s*1000; age >= -slack && age <= slack {
				return true
			}
		}
	}
	return r.time >= 0 && b.fork >= 0 && r.time > b.fork+slack
}
