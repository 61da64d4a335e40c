package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/yorehq/yore/internal/document"
)

// What the product is compared with: a plain loop over the tokens of the logs'
// JSON, and SQLite's own full-text index, contentless, fed with the same folded
// texts in transactions of 8 MB.

// tokenLoop reads every token of every log and does nothing with it.
func tokenLoop(s site) error {
	for _, source := range s.Sources {
		err := filepath.WalkDir(source.Root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			dec := jsontext.NewDecoder(bufio.NewReaderSize(f, 128<<10), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
			for {
				if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const batchBytes = 8 << 20

// folded visits the folded texts of a site, each valid during the call.
func folded(ctx context.Context, s site, visit func([]byte) error) error {
	var room []byte
	logs := int64(0)
	return s.texts(ctx, func(text string) error {
		room, _ = document.AppendFolded(room[:0], text)
		return visit(room)
	}, &logs)
}

// ftsBaseline indexes the texts of a site and returns, of some queries, the
// milliseconds that finding their documents takes. Reading and folding are no
// part of the index: what they cost a process of their own is to be taken off.
func ftsBaseline(ctx context.Context, s site) (map[string]float64, error) {
	path := filepath.Join(filepath.Dir(s.Index), "fts.db")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := fts5.Register(db); err != nil {
		return nil, err
	}
	err = db.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000; PRAGMA secure_delete = ON;
		CREATE VIRTUAL TABLE f USING fts5(t, content='', contentless_delete=1, detail=full, tokenize='ascii'); BEGIN`)
	if err != nil {
		return nil, err
	}
	insert, _, err := db.Prepare(`INSERT INTO f (rowid, t) VALUES (?, ?)`)
	if err != nil {
		return nil, err
	}
	defer insert.Close()
	id, batch := int64(0), 0
	err = folded(ctx, s, func(text []byte) error {
		id++
		batch += len(text)
		err := errors.Join(insert.BindInt64(1, id), insert.BindRawText(2, bytes.Clone(text)), insert.Exec())
		if err == nil && batch >= batchBytes {
			err, batch = db.Exec(`COMMIT; BEGIN`), 0
		}
		return err
	})
	if err == nil {
		err = db.Exec(`COMMIT`)
	}
	if err != nil {
		return nil, err
	}
	got := map[string]float64{}
	for name, query := range map[string]string{"rare": `"obsidian lantern protocol"`, "identifier": `"frobnicate widget cache"`, "path": `"srv app internal zephyr codec go"`, "cjk": `"量 子 退 火"`} {
		var times least
		for range 5 {
			start := time.Now()
			if err := matches(db, query); err != nil {
				return nil, err
			}
			times.took(0, time.Since(start))
		}
		got[name] = float64(times[0].Microseconds()) / 1000
	}
	return got, nil
}

func matches(db *sqlite3.Conn, query string) error {
	find, _, err := db.Prepare(`SELECT rowid FROM f WHERE f MATCH ?`)
	if err != nil {
		return err
	}
	defer find.Close()
	if err := find.BindText(1, query); err != nil {
		return err
	}
	for find.Step() {
	}
	return find.Err()
}
