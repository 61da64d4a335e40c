package jsonl_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/reader/jsonl"
)

// logs are made logs of each agent, about 4 MB each.
func logs(b *testing.B) map[string][]byte {
	b.Helper()
	stats, err := corpus.Generate(b.TempDir(), corpus.Options{Sessions: 1, Events: 45_000, Rich: true})
	if err != nil {
		b.Fatal(err)
	}
	dsh, err := os.ReadFile(stats.Sessions[0].Path)
	if err != nil {
		b.Fatal(err)
	}
	return map[string][]byte{"dsh": dsh, "claude": corpus.Claude(1, 4<<20).Text, "codex": corpus.Codex(1, 4<<20).Text}
}

// BenchmarkIndex checks every line of a log and finds its long values.
func BenchmarkIndex(b *testing.B) {
	for name, text := range logs(b) {
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var x jsonl.Index
			for b.Loop() {
				for _, l := range lines {
					if !x.Valid(l) {
						b.Fatal("not valid")
					}
				}
			}
		})
	}
}

// BenchmarkText makes text of program code and of prose.
func BenchmarkText(b *testing.B) {
	for name, one := range map[string]string{
		"code":  `func \"quoted\" name(ctx context.Context) error {\n\tif err != nil {\n\t\treturn fmt.Errorf(\"x: %w\", err)\n\t}\n`,
		"prose": `This is what was found when the linker was asked for its table of symbols, which it gave at once, in order. `,
		"mixed": `Größe und Länge der Tabelle: 測定した結果を示す。\n`,
	} {
		v := []byte(`"` + string(bytes.Repeat([]byte(one), 20)) + `"`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(v)))
			var x jsonl.Index
			for b.Loop() {
				if x.Text(v) == "" {
					b.Fatal("nothing")
				}
			}
		})
	}
}
