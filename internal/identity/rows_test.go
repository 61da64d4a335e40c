package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// rowReader has a shelf that gives calls as they stand in rows, and counts which
// sessions it was made to read.
type rowReader struct {
	lineReader
	written map[string]time.Time
	read    []string
}

func (*rowReader) Classify(rel string, _ bool) reader.Kind {
	if rel == "db" {
		return reader.Shelf
	}
	return reader.Ignore
}

func (*rowReader) ShelfStamp(string) (reader.Stamp, error) { return reader.Stamp{}, nil }

func (r *rowReader) List(_ context.Context, _, _ string, each func(reader.Listed) error) error {
	for name, at := range r.written {
		if err := each(reader.Listed{Name: name, Stamp: reader.Stamp{Size: 1, ModTime: at.UnixNano()}}); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowReader) Read(_ context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	_, name := reader.SplitPart(src.Path)
	r.read = append(r.read, name)
	args, err := json.Marshal(map[string]string{"query": name})
	if err != nil {
		return reader.Tail{}, err
	}
	from.Next = 1
	body := session.Body{CallID: "c", Blocks: []session.Block{{Kind: session.CallBlock, Name: "yore__session_search", Text: string(args)}}}
	return reader.Tail{Position: from}, emit(session.Event{Type: session.ToolCall, Body: body})
}

// Of a database's sessions those that were written last are looked at, by what
// its rows say and not by the database's file, which may be old while its log is
// not, or not be there.
func TestCallsInRows(t *testing.T) {
	now := time.Unix(2_000_000, 0)
	root := t.TempDir()
	r := &rowReader{written: map[string]time.Time{}}
	var sources []reader.Source
	for i := range 20 {
		name := fmt.Sprintf("s%d", i)
		r.written[name] = now.Add(-time.Duration(i) * 20 * time.Second)
		sources = append(sources, reader.Source{
			Agent: "test", Root: root, Path: reader.PartPath(filepath.Join(root, "db"), name), Header: session.Header{Agent: "test", ID: session.ID(name), Cwd: "/w"},
		})
	}
	l := NewLogs(LogsOptions{
		List:    func(context.Context, string) ([]reader.Source, error) { return sources, nil },
		Readers: []reader.Reader{r}, Now: func() time.Time { return now },
	})
	for query, want := range map[string][]session.Key{"s3": {{Agent: "test", ID: "s3"}}, "s4": nil, "s9": nil} {
		got, err := l.FindCall(t.Context(), "/w", PendingCall{Agent: "test", Tool: "session_search", Args: fmt.Appendf(nil, `{"query":%q}`, query)})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", query, err, diff)
		}
	}
}
