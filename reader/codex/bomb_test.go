package codex

import (
	"os"
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

// A compressed log that stands for far more text than its size allows.
func TestBomb(t *testing.T) {
	log := lines(metaLine(idA, ""), itemLine(1, userItem("", "one")), itemLine(2, userItem("", "two")))
	root := home(t, map[string]string{rollout(idA) + ".zst": compress(t, log)})
	src := source(t, root, rollout(idA)+".zst")
	want, _ := readAll(t, src)
	for name, of := range map[string]byte{"one line without an end": 'x', "empty lines": '\n', "zeros": 0} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(src.Path, append([]byte(compress(t, log)), readertest.Bomb("", readertest.BombBlocks, of, "")...), 0o600); err != nil {
				t.Fatal(err)
			}
			readertest.Inflated(t, New(), src, want)
		})
	}
}
