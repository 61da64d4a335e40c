package codex

import (
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

const genuine = "../../testdata/codex"

func TestConformance(t *testing.T) { readertest.Run(t, New(), genuine) }
