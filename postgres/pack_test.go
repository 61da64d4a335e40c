package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// TestPackedStateIsChecked: a state that was cut anywhere, or is of a layout to
// come, is no state, and never one of another session.
func TestPackedStateIsChecked(t *testing.T) {
	title := "a title"
	s := ingest.Stored{
		Num: 7, Source: "/s", Header: session.Header{Agent: "dsh", ID: "one", Cwd: "/w"}, Title: &title, LastStep: -1, Root: "r", Mapping: "m",
		Skip: &reader.Skip{}, Footprints: []string{"a", ""}, Calls: []ingest.Call{{ID: "i", Tool: "t"}}, Changed: -5,
		Naming: ingest.Naming{Claims: []ingest.Claim{{Leaf: "l", Title: "t"}}, Name: &ingest.Name{Title: "n", Number: 2}},
	}
	rest, err := packRest(&s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpackRest(7, rest)
	if diff := cmp.Diff(s, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	row := packRow(&s)
	f, err := unpackRow(7, 3, row)
	if err != nil || f.row.Num != 7 || f.row.Documents != 3 || *f.row.Title != "a title" || f.row.Changed != -5 {
		t.Errorf("%+v, %v", f.row, err)
	}
	if diff := cmp.Diff(s.Glance(), f.glance); diff != "" {
		t.Errorf("glance (-want +got):\n%s", diff)
	}
	for n := range rest {
		if _, err := unpackRest(7, rest[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a state", n, len(rest))
		}
	}
	for n := range row {
		if _, err := unpackRow(7, 3, row[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a row", n, len(row))
		}
	}
	rest[0], row[0] = layout+1, layout+1
	if _, err := unpackRest(7, rest); err == nil {
		t.Error("a state of a layout to come was read")
	}
	if _, err := unpackRow(7, 3, row); err == nil {
		t.Error("a row of a layout to come was read")
	}
}
