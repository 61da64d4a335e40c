package postgres_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/session"
)

// TestSecondWallThroughHTTP takes the first wall away below the whole server: every
// statement of it that names the asker's workspace names somebody else's instead,
// on its way to the database. No answer over HTTP tells anything of that, and
// nothing there changes. With the second wall taken down the same requests do tell,
// so that it is that wall which holds.
func TestSecondWallThroughHTTP(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	db := openAt(t, dsn)
	ctx := t.Context()
	// The same session on both sides: every number and id of one fits the other.
	write := func(tenant, word string) {
		t.Helper()
		_, _, err := db.Tenant(tenant).As("eve").Apply(ctx, "/w", "first", func(w *postgres.Writer) error {
			s := ingest.Stored{Source: "/logs/s", Header: session.Header{Agent: session.DSH, ID: "s", Cwd: "/w"}, Events: 3, LastStep: -1}
			if err := w.Put(ctx, &s); err != nil {
				return err
			}
			var b ingest.Batch
			var raws []postgres.Event
			for i := range int64(3) {
				b.Entries = append(b.Entries, entry(i, fmt.Sprint("linker ", word, i)))
				raws = append(raws, postgres.Event{Raw: session.Raw{Event: session.Event{
					Seq: i, Type: session.AssistantMessage, Body: session.Body{Speaker: session.Assistant, Blocks: []session.Block{{Text: "linker " + word}}},
				}, Native: fmt.Appendf(nil, `{"w":"%s"}`, word)}, Span: 1})
			}
			if err := w.Append(ctx, s.Num, &b); err != nil {
				return err
			}
			return w.Keep(ctx, s.Num, raws)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	owner := connect(t, dsn)
	// A key is no other number that a statement has.
	if _, err := owner.Exec(ctx, `ALTER TABLE yore.scope ALTER COLUMN ws_key RESTART WITH 7001`); err != nil {
		t.Fatal(err)
	}
	write("acme", "harmless")
	write("umbrella", "secret")
	key := func(tenant string) (n int64) {
		t.Helper()
		if err := owner.QueryRow(ctx, `SELECT ws_key FROM yore.scope WHERE tenant = $1`, tenant).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	state := func() (text string) {
		t.Helper()
		err := owner.QueryRow(ctx, `SELECT concat((SELECT string_agg(d::text, ';' ORDER BY num, n) FROM yore.document d WHERE ws_key = $1),
			(SELECT string_agg(s::text, ';' ORDER BY num) FROM yore.session s WHERE ws_key = $1), (SELECT string_agg(h::text, ';') FROM yore.shard h WHERE ws_key = $1),
			(SELECT string_agg(c::text, ';' ORDER BY num, first) FROM yore.chunk c WHERE ws_key = $1), (SELECT count(*) FROM yore.tombstone WHERE ws_key = $1))`, key("umbrella")).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	token := postgres.Token{Tenant: "acme", Person: "eve", Rights: []string{postgres.RightRead, postgres.RightPush}, Workspaces: []string{"/w"}}
	secret, _, err := db.Mint(ctx, token)
	if err != nil {
		t.Fatal(err)
	}

	// over asks a server whose statements are bent everything there is to be asked.
	over := func() (told string, bent int64) {
		t.Helper()
		aim := &postgres.Aim{From: key("acme"), To: key("umbrella")}
		crooked, err := postgres.OpenBent(ctx, postgres.Options{DSN: dsn}, aim)
		if err != nil {
			t.Fatal(err)
		}
		defer crooked.Close()
		d := serve.Database{DB: crooked}
		s, err := serve.New(serve.Options{Store: d, Tokens: d, Audit: d})
		if err != nil {
			t.Fatal(err)
		}
		at := httptest.NewServer(s)
		defer at.Close()
		for _, r := range [][3]string{
			{"GET", "/v1/search?query=linker", ""}, {"GET", "/v1/search?query=secret1&match=literal", ""}, {"GET", "/v1/list", ""}, {"GET", "/v1/show?session_id=s", ""},
			{"GET", "/v1/events?session_id=s", ""}, {"GET", "/v1/events?session_id=s&query=linker", ""}, {"GET", "/v1/read?session_id=s&seq=1", ""},
			{"GET", "/v1/record?session_id=s&seq=1", ""}, {"GET", "/v1/replacements?session_id=s", ""}, {"GET", "/v1/trace?session_id=s", ""},
			{"GET", "/v1/event-trace?session_id=s&seq=1", ""},
			{"POST", "/v1/tools/session_search", `{"arguments":{"query":"linker"}}`}, {"POST", "/v1/tools/session_event_read", `{"arguments":{"session_id":"s","seq":1}}`},
			{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_search","arguments":{"query":"linker"}}}`},
			{"POST", "/v1/withdraw", `{"workspace":"/w","agent":"dsh","id":"s"}`},
		} {
			req, err := http.NewRequestWithContext(ctx, r[0], at.URL+r[1], strings.NewReader(r[2]))
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range map[string]string{"Authorization": "Bearer " + secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
				req.Header.Set(name, v)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			told += fmt.Sprintf("%s %s: %d %s\n\n", r[0], r[1], res.StatusCode, bytes.TrimSpace(text))
		}
		return told, aim.Bent.Load()
	}
	before := state()
	told, bent := over()
	if bent < 20 {
		t.Errorf("%d statements were bent: this tests nothing", bent)
	}
	// What was asked may stand in an answer; what is there may not.
	for _, bad := range []string{"secret0", "linker secret", `"w":"secret"`, "eyJ3Ijoi"} {
		if strings.Contains(told, bad) {
			t.Errorf("an answer tells %q:\n%s", bad, told)
		}
	}
	if state() != before {
		t.Error("the other workspace's rows have changed")
	}
	rows, err := owner.Query(ctx, `SELECT relname FROM pg_class WHERE relnamespace = 'yore'::regnamespace AND relrowsecurity`)
	if err != nil {
		t.Fatal(err)
	}
	var walls []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		walls = append(walls, `ALTER TABLE yore."`+name+`" DISABLE ROW LEVEL SECURITY`)
	}
	if err := rows.Err(); err != nil || len(walls) < 10 {
		t.Fatal(len(walls), err)
	}
	// The index's own function asks what may be seen by itself.
	walls = append(walls, `CREATE OR REPLACE FUNCTION yore.allowed() RETURNS bigint[] LANGUAGE sql STABLE AS $$ SELECT array_agg(ws_key) FROM yore.scope $$`)
	if _, err := owner.Exec(ctx, strings.Join(walls, ";")); err != nil {
		t.Fatal(err)
	}
	told, _ = over()
	for _, answer := range strings.SplitAfter(strings.TrimSuffix(told, "\n\n"), "\n\n") {
		// Some answers hold no text of a session.
		if !strings.Contains(answer, "secret") && !strings.Contains(answer, "eyJ3Ijoi") && !strings.Contains(answer, "/withdraw") && !strings.Contains(answer, "trace") && !strings.Contains(answer, "/list") && !strings.Contains(answer, "replacements") {
			t.Errorf("without the second wall this tells nothing, so it tests nothing: %s", answer)
		}
	}
	if state() == before {
		t.Error("without the second wall nothing is changed: this tests nothing")
	}
}
