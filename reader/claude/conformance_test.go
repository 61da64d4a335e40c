package claude

import (
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

// samples are logs that the real client wrote, with long texts trimmed.
const samples = "../../testdata/claude/projects"

func TestConformance(t *testing.T) { readertest.Run(t, New(), samples) }
