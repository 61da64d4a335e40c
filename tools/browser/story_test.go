package browser

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// work is what the sessions of the pictures are about.
var work = []struct{ title, ask, look, found, done string }{
	{"Rate limiter drops bursts after a restart", "After a restart the rate limiter refuses the first burst of every client. Why?", "internal/limit/bucket.go", "func NewBucket(rate float64) *Bucket {\n\treturn &Bucket{rate: rate} // tokens: 0\n}", "The token bucket starts empty after a restart. It now starts full, and a test pins the first burst."},
	{"Flaky test in the retry queue", "TestRetryQueue fails about once in forty runs. Find out why and fix it.", "internal/queue/retry_test.go", "--- FAIL: TestRetryQueue (0.21s)\n    retry_test.go:88: got 2 attempts, want 3", "The test raced with the retry timer. It uses a fake clock now; 500 runs are green."},
	{"Move the session cache to SQLite", "The session cache is a map behind a mutex. Move it to SQLite so that it survives a restart.", "internal/cache/cache.go", "type Cache struct {\n\tmu sync.Mutex\n\tm  map[string]Entry\n}", "The session cache lives in SQLite in WAL mode. Reads cost 40 µs, and a restart keeps every session."},
	{"Dark mode for the settings page", "Give the settings page a dark mode that follows the system.", "web/settings.css", ":root { --ground: #fff; --ink: #222; }", "The colours are variables and follow prefers-color-scheme. The contrast is at least 4.5 to 1 everywhere."},
	{"Cut the image build from nine minutes to three", "The container image takes nine minutes to build. Can the cache be used better?", "Dockerfile", "COPY . .\nRUN go mod download && go build ./...", "Modules are downloaded in a layer of their own and the build cache is mounted: three minutes and ten seconds."},
	{"Paging of the audit log", "The audit log page loads every row. Add paging by cursor.", "internal/audit/list.go", "rows, err := db.Query(`SELECT * FROM audit ORDER BY id`)", "The audit log pages by a sealed cursor of 200 rows. Old links still work."},
	{"Upgrade the parser to the new grammar", "Upgrade the parser to grammar 4 and keep the old files readable.", "internal/parse/grammar.go", "const grammarVersion = 3", "Grammar 4 parses, and files of version 3 are read through an adapter with golden tests."},
	{"Memory of the importer grows without end", "The importer uses 6 GB on the large customer file. Find the leak.", "internal/importer/stream.go", "lines = append(lines, line) // kept for the report", "The importer kept every line for its report. It keeps offsets now: 90 MB at the peak."},
}

// story writes the logs of three agents in some weeks of work, seeded.
func story(t *testing.T) (roots []string) {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	places := []string{"/home/ada/atlas", "/home/ada/atlas-web", "/home/ada/ledger", "/home/ada/infra"}
	start := time.Date(2026, 9, 21, 8, 0, 0, 0, time.UTC)
	for day := range 52 {
		at := start.AddDate(0, 0, day)
		if at.Weekday() == time.Sunday || at.Weekday() == time.Saturday && r.IntN(3) > 0 {
			continue
		}
		for range 1 + r.IntN(4) {
			w := work[r.IntN(len(work))]
			cwd := places[min(r.IntN(len(places)), r.IntN(len(places)))]
			began := at.Add(time.Duration(r.IntN(9*60)) * time.Minute)
			turns := 3 + r.IntN(14)
			switch r.IntN(5) {
			case 0, 1:
				claudeLog(t, filepath.Join(dir, "claude"), r, cwd, began, w.ask, w.look, w.found, w.done, turns)
			case 2:
				codexLog(t, filepath.Join(dir, "codex"), r, cwd, began, w.ask, w.look, w.found, w.done, turns)
			default:
				d := newDiary(t, filepath.Join(dir, "dsh"), uuid(r), cwd, began.UnixMilli(), "")
				d.human(w.ask)
				d.title(w.title)
				for range turns {
					d.tool("read", `{"path":"`+w.look+`"}`, w.found)
					d.assistant("I look at " + w.look + " first.")
				}
				d.assistant(w.done)
				d.save()
			}
		}
	}
	featured(t, filepath.Join(dir, "dsh"), start.AddDate(0, 0, 52).Add(2*time.Hour))
	return []string{"dsh=" + filepath.Join(dir, "dsh"), "claude-code=" + filepath.Join(dir, "claude"), "codex=" + filepath.Join(dir, "codex")}
}

func uuid(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b)&0x3fff|0x8000, b>>16)
}

// featured writes the session that the pictures show, and its kin.
func featured(t *testing.T, root string, began time.Time) {
	t.Helper()
	const cwd = "/home/ada/atlas"
	w := work[0]
	d := newDiary(t, root, "atlas-limiter", cwd, began.UnixMilli(), "")
	first := []int{d.human(w.ask)}
	d.title(w.title)
	first = append(first, d.assistant("I look at how the bucket is made, then at what a restart does to it."),
		d.tool("read", `{"path":"internal/limit/bucket.go"}`, w.found),
		d.assistant("NewBucket leaves tokens at zero. A client that comes right after a restart finds an empty bucket."),
		d.tool("bash", `{"command":"go test ./internal/limit -run Burst -v"}`, "=== RUN   TestBurst\n--- FAIL: TestBurst (0.00s)\n    bucket_test.go:31: first burst: 0 of 20 allowed"),
		d.human("Is the state of the buckets not kept anywhere?"),
		d.assistant("No. There is a snapshot for the quota ledger, and none for the rate limiter."))
	d.compact("So far: the rate limiter's bucket starts empty after a restart (internal/limit/bucket.go), TestBurst shows it, and no snapshot keeps its state.", first...)
	d.human("Start it full, and write the test that would have caught it.")
	d.tool("edit", `{"path":"internal/limit/bucket.go","old":"&Bucket{rate: rate}","new":"&Bucket{rate: rate, tokens: burst}"}`, "1 replacement")
	d.tool("edit", `{"path":"internal/limit/bucket_test.go","new":"func TestFirstBurst(t *testing.T) { … }"}`, "created")
	last := d.tool("bash", `{"command":"go test ./internal/limit"}`, strings.Repeat("=== RUN   TestFirstBurst/20_clients\n", 30)+"ok   atlas/internal/limit 0.212s")
	d.compact("ok   atlas/internal/limit 0.212s   [30 lines of output taken out]", last)
	d.assistant("The token bucket starts full now. TestFirstBurst fails without the change and passes with it.")
	d.human("Good. What would a client see in the worst case?")
	d.assistant("Two bursts in a row around a restart: one before it, one after. That is at most twice the limit, once, and the ledger counts both.")
	d.save()
	kin := func(id, parent, more, title, ask, done string, hours int) {
		k := newDiary(t, root, id, cwd, began.Add(time.Duration(hours)*time.Hour).UnixMilli(), `,"parentSession":"`+parent+`"`+more)
		k.human(ask)
		k.title(title)
		k.assistant(done)
		k.save()
	}
	const sub = `,"origin":"subagent"`
	kin("atlas-survey", "atlas-limiter", sub, "Survey every caller of NewBucket", "List every caller of NewBucket.", "Eleven callers, all in the gateway.", 1)
	kin("atlas-bench", "atlas-limiter", sub, "Measure the cost of a full bucket", "Measure it.", "No difference within the noise.", 2)
	kin("atlas-snapshot", "atlas-limiter", "", "Keep buckets in a snapshot instead", "Try the other way: keep the buckets over a restart.", "It works, and costs a write each second.", 3)
	kin("atlas-format", "atlas-snapshot", sub, "Compare three snapshot formats", "Compare the formats.", "The smallest is 40 bytes a client.", 4)
	kin("atlas-review", "atlas-snapshot", sub, "Review the snapshot code", "Review it.", "Two remarks, both about torn writes.", 5)
	kin("atlas-docs", "atlas-limiter", "", "Describe the burst rule in the handbook", "Write the page.", "The page is there, with the worst case.", 6)
}

func claudeLog(t *testing.T, root string, r *rand.Rand, cwd string, at time.Time, ask, look, found, done string, turns int) {
	t.Helper()
	id := uuid(r)
	var b strings.Builder
	parent := "null"
	line := func(kind, message string) {
		own := uuid(r)
		at = at.Add(time.Duration(5+r.IntN(60)) * time.Second)
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":%q,"timestamp":%q,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.332"}`+"\n",
			parent, kind, message, own, at.Format("2006-01-02T15:04:05.000Z"), cwd, id)
		parent = quote(own)
	}
	says := func(content string) {
		line("assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s]}`, r.Uint32(), content))
	}
	line("user", `{"role":"user","content":`+quote(ask)+`}`)
	for range turns {
		call := fmt.Sprintf("toolu_%d", r.Uint32())
		says(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{"file_path":%q}}`, call, []string{"Read", "Bash", "Grep", "Edit"}[r.IntN(4)], look))
		line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}`, call, quote(found)))
	}
	says(`{"type":"text","text":` + quote(done) + `}`)
	save(t, filepath.Join(root, strings.ReplaceAll(cwd, "/", "-"), id+".jsonl"), b.String())
}

func codexLog(t *testing.T, root string, r *rand.Rand, cwd string, at time.Time, ask, look, found, done string, turns int) {
	t.Helper()
	id := uuid(r)
	began := at
	var b strings.Builder
	line := func(kind, payload string) {
		fmt.Fprintf(&b, `{"timestamp":%q,"type":%q,"payload":%s}`+"\n", at.Format("2006-01-02T15:04:05.000Z"), kind, payload)
		at = at.Add(time.Duration(5+r.IntN(60)) * time.Second)
	}
	line("session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q,"cwd":%q,"originator":"codex_cli_rs","cli_version":"0.171.0","source":"cli","model_provider":"acme"}`, id, at.Format("2006-01-02T15:04:05.000Z"), cwd))
	line("event_msg", `{"type":"user_message","message":`+quote(ask)+`}`)
	line("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":`+quote(ask)+`}]}`)
	for range turns {
		call := fmt.Sprintf("call_%d", r.Uint32())
		line("response_item", fmt.Sprintf(`{"type":"function_call","name":%q,"arguments":%s,"call_id":%q}`, []string{"shell", "apply_patch"}[r.IntN(2)], quote(`{"command":["sed","-n","1,80p","`+look+`"]}`), call))
		line("response_item", fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%s}`, call, quote(found)))
	}
	line("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":`+quote(done)+`}]}`)
	save(t, filepath.Join(root, "sessions", began.Format("2006/01/02"), "rollout-"+began.Format("2006-01-02T15-04-05")+"-"+id+".jsonl"), b.String())
}

func save(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
