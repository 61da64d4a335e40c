package ingest_test

import (
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// writeFrames writes each text as a zstd frame of its own.
func writeFrames(t *testing.T, path string, texts ...string) {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, text := range texts {
		out = enc.EncodeAll([]byte(text), out)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}
