package gemini

import (
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

const genuine = "../../testdata/gemini"

func TestConformance(t *testing.T) { readertest.Run(t, New(), genuine) }
