package copilot

import (
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

func TestConformance(t *testing.T) {
	readertest.Run(t, New(), "testdata/1.0.102")
}
