package pi

import (
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

func TestConformance(t *testing.T) {
	readertest.Run(t, New(), "testdata/sample", "testdata/made")
}
