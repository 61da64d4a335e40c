package dsh

import (
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

const (
	corpus  = "../../testdata/golden/corpus"
	genuine = "../../testdata/dsh/sessions"
)

func TestConformance(t *testing.T) {
	roots := []string{genuine}
	for _, name := range []string{"main", "zst"} {
		roots = append(roots, filepath.Join(corpus, name))
	}
	readertest.Run(t, New(), roots...)
}
