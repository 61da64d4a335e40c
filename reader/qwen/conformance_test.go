package qwen

import (
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

const genuine = "../../testdata/qwen"

func TestConformance(t *testing.T) { readertest.Run(t, New(), genuine) }
