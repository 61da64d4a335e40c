package storetest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func p(elements ...string) string {
	return string(filepath.Separator) + filepath.Join(elements...)
}

func update(t *testing.T, s Local, change ingest.CatalogChange) {
	t.Helper()
	if err := s.Update(t.Context(), change); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func testCatalog(t *testing.T, s Local) {
	root := p("root")
	child := header("child")
	child.ParentSession, child.SeedLength = "parent", 4
	elsewhere := header("parent")
	elsewhere.Cwd = ""
	broken := header("broken")
	files := []ingest.FileRow{ // by path
		{Path: p("root", "a"), Root: root, Folder: root, Agent: session.DSH, Header: header("parent"), Stamp: reader.Stamp{Device: 1<<64 - 1, Inode: 2, Size: 3, ModTime: 4}},
		{Path: p("root", "b", "child"), Root: root, Folder: p("root", "b"), Agent: session.DSH, Header: child},
		{Path: p("root", "b", "else"), Root: root, Folder: p("root", "b"), Agent: session.DSH, Header: elsewhere},
		{
			Path: p("root", "c"), Root: root, Folder: root, Agent: session.DSH, Header: broken,
			Problem: &reader.Problem{Code: fault.Persistence, Path: p("root", "c"), Line: 2, Offset: 30, Reason: "bad"},
		},
		{Path: p("root", "d"), Root: root, Folder: root, Agent: session.DSH, Pending: true, Stamp: reader.Stamp{Size: 9}},
	}
	folders := []ingest.Folder{
		{Path: root, Root: root, ModTime: 5, Listed: 6},
		{Path: p("root", "b"), Root: root, Leaf: true, Listed: 1_700_000_000_000_000_001},
	}
	update(t, s, ingest.CatalogChange{Folders: folders, Files: files})

	same(t, "folders", must[[]ingest.Folder](t)(s.Folders(t.Context(), ingest.FolderLookup{Root: root})), folders)
	same(t, "folders of another root", must[[]ingest.Folder](t)(s.Folders(t.Context(), ingest.FolderLookup{Root: p("other")})), []ingest.Folder(nil))

	at, nowhere, folder, path := home, "", p("root", "b"), p("root", "d")
	for _, c := range []struct {
		name  string
		which ingest.FileLookup
		want  []ingest.FileRow
	}{
		{"all", ingest.FileLookup{}, files},
		{"workspace", ingest.FileLookup{Workspace: &at}, []ingest.FileRow{files[0], files[1], files[3]}},
		{"no workspace", ingest.FileLookup{Workspace: &nowhere}, files[2:3]},
		{"folder", ingest.FileLookup{Folder: &folder}, files[1:3]},
		{"pending", ingest.FileLookup{Pending: true}, files[4:]},
		{"path", ingest.FileLookup{Path: &path}, files[4:]},
		{"root", ingest.FileLookup{Root: &root}, files},
		{"another root", ingest.FileLookup{Root: &folder}, nil},
		{"shelves", ingest.FileLookup{Shelves: true}, nil},
		{"folder and workspace", ingest.FileLookup{Folder: &folder, Workspace: &at}, files[1:2]},
	} {
		same(t, "files: "+c.name, must[[]ingest.FileRow](t)(s.Files(t.Context(), c.which)), c.want)
	}

	known := make([]query.Known, 4)
	for i := range known {
		known[i] = query.Known{Header: files[i].Header, Path: files[i].Path}
	}
	known[3].Problem = &query.Problem{Code: fault.Persistence, Line: 2, Offset: 30, Reason: "bad"}
	testHeaders(t, s, known)
	testShelves(t, s)

	files[4].Pending, files[4].Header = false, header("late")
	update(t, s, ingest.CatalogChange{Files: files[4:]})
	same(t, "a header that came late", must[[]ingest.FileRow](t)(s.Files(t.Context(), ingest.FileLookup{Path: &path})), files[4:])
	same(t, "pending", must[[]ingest.FileRow](t)(s.Files(t.Context(), ingest.FileLookup{Pending: true})), []ingest.FileRow(nil))
}

// testHeaders asks for the headers of four sources, by path: the parent, its child,
// one of the parent's id in no workspace, and one that has a problem.
func testHeaders(t *testing.T, s Store, known []query.Known) {
	t.Helper()
	at := home
	id, none, empty := session.ID("parent"), session.ID("none"), session.ID("")
	for _, c := range []struct {
		name  string
		which query.Lookup
		want  []query.Known
	}{
		{"all", query.Lookup{}, known},
		{"id", query.Lookup{IDs: []session.ID{id}}, []query.Known{known[0], known[2]}},
		{"parent", query.Lookup{Parent: &id}, known[1:2]},
		{"workspace", query.Lookup{Workspaces: []string{at}}, []query.Known{known[0], known[1], known[3]}},
		{"id and workspace", query.Lookup{IDs: []session.ID{id}, Workspaces: []string{at}}, known[:1]},
		{"unknown id", query.Lookup{IDs: []session.ID{none}}, nil},
		{"several ids", query.Lookup{IDs: []session.ID{none, known[1].Header.ID, id}}, known[:3]},
		{"no id", query.Lookup{IDs: []session.ID{}}, nil},
		{"no parent", query.Lookup{Parent: &empty}, []query.Known{known[0], known[2], known[3]}},
	} {
		same(t, "headers: "+c.name, must[[]query.Known](t)(s.Headers(t.Context(), c.which)), c.want)
	}
}

// testStoredHeaders puts sessions instead of files.
func testStoredHeaders(t *testing.T, s Store) {
	child := header("child")
	child.ParentSession, child.SeedLength = "parent", 4
	elsewhere := header("parent")
	elsewhere.Cwd = ""
	stored := []ingest.Stored{ // by source
		{Source: p("root", "a"), Header: header("parent")},
		{Source: p("root", "b", "child"), Header: child},
		{Source: p("root", "b", "else"), Header: elsewhere},
		{
			Source: p("root", "c"), Header: header("broken"),
			Problem: &reader.Problem{Code: fault.Persistence, Path: p("root", "c"), Line: 2, Offset: 30, Reason: "bad"},
		},
	}
	var known []query.Known
	for _, i := range []int{3, 1, 2, 0} { // in no order
		err := s.Write(t.Context(), stored[i].Header.Cwd, func(w ingest.Writer) error { return w.Put(t.Context(), &stored[i]) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range stored {
		known = append(known, query.Known{Header: stored[i].Header, Path: stored[i].Source})
	}
	// One whose records are broken is a session all the same: its row says what is wrong.
	testHeaders(t, s, known)

	// What was found out of a log is part of its header.
	stored[0].Fork = ingest.Fork{Parent: "older", Seed: 3, CreatedAt: 1_700_000_000_100}
	write(t, s, func(w ingest.Writer) error { return w.Put(t.Context(), &stored[0]) })
	older := session.ID("older")
	known[0].Header = stored[0].Fork.Apply(stored[0].Header)
	same(t, "headers: a parent that was found out", must[[]query.Known](t)(s.Headers(t.Context(), query.Lookup{Parent: &older})), known[:1])
}

// testShelves adds two shelves and what is on them, asks for them, and takes them
// out again.
func testShelves(t *testing.T, s Local) {
	root := p("shelves")
	row := func(path string) ingest.FileRow {
		return ingest.FileRow{Path: path, Root: root, Folder: root, Agent: session.DSH}
	}
	shelf, other := row(p("shelves", "db")), row(p("shelves", "db2"))
	shelf.Shelf, other.Shelf = true, true
	other.Problem = &reader.Problem{Code: fault.Persistence, Path: other.Path, Reason: "bad"}
	on := row(shelf.Path + "//one")
	on.Header, on.Stamp = header("on a shelf"), reader.Stamp{Inode: 1<<64 - 1, ModTime: 5}
	also := row(shelf.Path + "//two")
	also.Pending = true
	beside := row(other.Path + "//one")
	beside.Header = header("on the other shelf")
	all := []ingest.FileRow{shelf, on, also, other, beside}
	update(t, s, ingest.CatalogChange{Files: all})
	nothing := p("shelves", "d")
	for _, c := range []struct {
		name  string
		which ingest.FileLookup
		want  []ingest.FileRow
	}{
		{"all", ingest.FileLookup{Shelves: true}, []ingest.FileRow{shelf, other}},
		{"on one", ingest.FileLookup{PartsOf: &shelf.Path}, []ingest.FileRow{on, also}},
		{"on none", ingest.FileLookup{PartsOf: &nothing}, nil},
		{"itself", ingest.FileLookup{Path: &shelf.Path}, []ingest.FileRow{shelf}},
	} {
		same(t, "shelves: "+c.name, must[[]ingest.FileRow](t)(s.Files(t.Context(), c.which)), c.want)
	}
	for _, r := range must[[]ingest.FileRow](t)(s.Files(t.Context(), ingest.FileLookup{Pending: true})) {
		if r.Shelf {
			t.Error("a shelf is pending")
		}
	}
	if known := must[[]query.Known](t)(s.Headers(t.Context(), query.Lookup{IDs: []session.ID{""}})); len(known) != 0 {
		t.Errorf("a shelf has the header %+v", known)
	}
	var gone []string
	for _, r := range all {
		gone = append(gone, r.Path)
	}
	update(t, s, ingest.CatalogChange{RemoveFiles: gone})
}

func testCatalogRemovals(t *testing.T, s Local) {
	var change ingest.CatalogChange
	for _, dir := range []string{"x", "x!", "x0", "xy", "X", "x%", "x_"} {
		for _, folder := range []string{p("r", dir), p("r", dir, "sub")} {
			change.Folders = append(change.Folders, ingest.Folder{Path: folder, Root: p("r")})
			for n := range 2 {
				path := filepath.Join(folder, fmt.Sprint("file", n))
				change.Files = append(change.Files, ingest.FileRow{Path: path, Root: p("r"), Folder: folder, Agent: session.DSH})
			}
		}
	}
	update(t, s, change)
	update(t, s, ingest.CatalogChange{RemoveFolders: []string{p("r", "x")}, RemoveFiles: []string{p("r", "xy", "file0"), p("not", "there")}})
	same(t, "folders left", len(must[[]ingest.Folder](t)(s.Folders(t.Context(), ingest.FolderLookup{Root: p("r")}))), 12)
	same(t, "files left", len(must[[]ingest.FileRow](t)(s.Files(t.Context(), ingest.FileLookup{}))), 23)
	for _, f := range must[[]ingest.FileRow](t)(s.Files(t.Context(), ingest.FileLookup{})) {
		if f.Folder == p("r", "x") || f.Folder == p("r", "x", "sub") {
			t.Errorf("%s is left", f.Path)
		}
	}
	update(t, s, ingest.CatalogChange{RemoveFolders: []string{p("r", "xy")}, Folders: []ingest.Folder{{Path: p("r", "xy"), Root: p("r")}}})
	same(t, "a folder that came back", len(must[[]ingest.Folder](t)(s.Folders(t.Context(), ingest.FolderLookup{Root: p("r")}))), 11)
	update(t, s, ingest.CatalogChange{RemoveFolders: []string{p()}})
	same(t, "nothing left", len(must[[]ingest.FileRow](t)(s.Files(t.Context(), ingest.FileLookup{}))), 0)
}
