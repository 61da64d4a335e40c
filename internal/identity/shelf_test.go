package identity

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// shelfReader has one shelf and tells the calls that are open on it.
type shelfReader struct {
	lineReader
	open  []reader.OpenCall
	asked int
}

func (*shelfReader) Classify(rel string, _ bool) reader.Kind {
	if rel == "db" {
		return reader.Shelf
	}
	return reader.Ignore
}

func (*shelfReader) ShelfStamp(string) (reader.Stamp, error) { return reader.Stamp{}, nil }

func (*shelfReader) List(context.Context, string, string, func(reader.Listed) error) error {
	return nil
}

func (r *shelfReader) OpenCalls(context.Context, string) ([]reader.OpenCall, error) {
	r.asked++
	return r.open, nil
}

// A call is found among those that are open on a shelf, which is asked once; a
// session of another workspace, another tool and other arguments are not it.
func TestOpenCallsOnAShelf(t *testing.T) {
	r := &shelfReader{open: []reader.OpenCall{
		{Session: "a", Name: "yore_session_search", Args: `{"query": "x"}`},
		{Session: "b", Name: "yore_session_search", Args: `{"query":"y"}`},
		{Session: "away", Name: "yore_session_search", Args: `{"query":"x"}`},
		{Session: "c", Name: "read", Args: `{"query":"x"}`},
	}}
	var sources []reader.Source
	for _, id := range []session.ID{"a", "b", "c", "away"} {
		h := session.Header{Agent: "test", ID: id, Cwd: "/w"}
		if id == "away" {
			h.Cwd = "/other"
		}
		sources = append(sources, reader.Source{Agent: "test", Root: "/r", Path: reader.PartPath("/r/db", string(id)), Header: h})
	}
	l := NewLogs(LogsOptions{
		List:    func(context.Context, string) ([]reader.Source, error) { return sources, nil },
		Readers: []reader.Reader{r}, Now: func() time.Time { return time.Unix(0, 0) },
	})
	for _, c := range []struct {
		agent session.Agent
		args  string
		want  []session.Key
	}{
		{"test", `{"query":"x"}`, []session.Key{{Agent: "test", ID: "a"}}},
		{"", `{"query":"y"}`, []session.Key{{Agent: "test", ID: "b"}}},
		{"test", `{"query":"z"}`, nil},
		{"another", `{"query":"x"}`, nil},
	} {
		r.asked = 0
		got, err := l.FindCall(t.Context(), "/w", PendingCall{Agent: c.agent, Tool: "session_search", Args: []byte(c.args)})
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil || r.asked > 1 {
			t.Errorf("%+v: asked %d times, %v (-want +got):\n%s", c, r.asked, err, diff)
		}
	}
}
