package cli

import "runtime/debug"

const (
	// collectPercent lets a run that is over in a moment end before its first
	// collection.
	collectPercent = 400

	// collectBytes is from where on the heap is kept small all the same: indexing
	// has few live bytes and makes very many.
	collectBytes = 96 << 20
)

// tuneMemory sets when this process collects garbage, unless its owner has.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(collectBytes)
	}
}
