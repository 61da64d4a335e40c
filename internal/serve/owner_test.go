package serve_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// together has so many transactions begin at the same time.
type together struct {
	serve.Store
	gate *sync.WaitGroup
}

func (s together) Apply(ctx context.Context, to serve.Place, batch string, work func(serve.Keeper) error) (uint64, bool, error) {
	s.gate.Done()
	s.gate.Wait()
	return s.Store.Apply(ctx, to, batch, work)
}

// stretchOf packs a session of one message, as it is sent.
func stretchOf(t *testing.T, id, native string) string {
	t.Helper()
	var body bytes.Buffer
	enc, err := archive.NewEncoder(&body)
	if err == nil {
		err = enc.Begin(archive.Origin{Header: session.Header{Agent: session.DSH, ID: session.ID(id), Cwd: "/w", CreatedAt: 1}, Mapping: "m"})
	}
	if err == nil {
		err = enc.Add(session.Raw{Event: session.Event{
			Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend},
			Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: native}}},
		}, Native: []byte(`"` + native + `"`)}, 1)
	}
	if err == nil {
		err = enc.End(reader.Position{Next: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return body.String()
}

// Two people send a session of one id at the same time, each in the place of
// whatever is there: one of them has sent it, and the other one learns that.
func TestTwoPeopleSendOneSession(t *testing.T) {
	gate := &sync.WaitGroup{}
	r := newRig(t, func(o *serve.Options) { o.Store = together{o.Store, gate} })
	people := []string{"ada", "bob", "cyd"}
	for _, id := range []string{"one", "two", "three"} {
		gate.Add(len(people))
		codes := make([]int, len(people))
		var sending sync.WaitGroup
		for i, p := range people {
			token, body := r.mint("acme", p, both, "/w"), stretchOf(t, id, "said by "+p)
			sending.Go(func() { codes[i], _, _ = r.do(http.MethodPost, "/v1/push?from=0&anew=true", token, body) })
		}
		sending.Wait()
		owner := slices.Index(codes, http.StatusOK)
		if sorted := slices.Sorted(slices.Values(codes)); !slices.Equal(sorted, []int{200, 422, 422}) {
			t.Fatalf("%s: %v, want one of them to have sent it", id, codes)
		}
		if code, text, _ := r.do(http.MethodGet, "/v1/read?session_id="+id+"&seq=0", r.mint("acme", "eve", []string{postgres.RightRead}, "/w"), ""); code != 200 || !bytes.Contains([]byte(text), []byte("said by "+people[owner])) {
			t.Errorf("%s: %d %s, want what %s said", id, code, text, people[owner])
		}
	}
}
