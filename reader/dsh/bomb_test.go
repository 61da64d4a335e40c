package dsh

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
)

// Frames that stand for far more text than their size allows: one, torn or whole,
// and many of which none is too large by itself.
func TestBomb(t *testing.T) {
	log := []string{turnStart(0) + "\n", turnEnded(1) + "\n"}
	want := mustRead(t, zstdLog(t, nil, log...))
	whole := readertest.Bomb("", readertest.BombBlocks, 'x', "\n")
	var many []byte
	for seq := range 40 {
		record := fmt.Sprintf(`{"type":"turn/start","seq":%d,"time":1,"data":{"turn":1,"pad":"`, seq+2)
		many = append(many, readertest.Bomb(record, readertest.BombBlocks/40, 'x', "\"}}\n")...)
	}
	for name, tail := range map[string][]byte{"one": whole, "torn": whole[:len(whole)-1], "many": many} {
		t.Run(name, func(t *testing.T) { readertest.Inflated(t, New(), zstdLog(t, tail, log...), want) })
	}
}

// Such rows of a database.
func TestBombInATable(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "sessions.sqlite"))
	id := s.header([]byte(sampleHeader))
	s.record(id, []byte(turnStart(0)))
	src := reader.Source{Agent: New().Agent(), Root: filepath.Dir(s.path), Path: reader.PartPath(s.path, id)}
	want := mustRead(t, src)
	for seq := range int64(40) {
		s.exec(`INSERT INTO events VALUES (?, ?, 'turn/start', 1, ?, NULL, NULL, NULL)`, id, seq+1, readertest.Bomb(`{"turn":1,"pad":"`, readertest.BombBlocks/40, 'x', `"}`))
	}
	readertest.Inflated(t, New(), src, want)
}
