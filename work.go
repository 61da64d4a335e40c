package yore

// Work counts what a history has done since it was opened, for who wants to know
// what an answer costs.
type Work struct {
	Bytes      int64 // of logs, parsed
	Files      int64 // stat'ed
	Folders    int64 // stat'ed
	Identified int64 // files opened for their header

	Transactions int64 // committed to the index
	Rows         int64 // of the index inserted, changed or deleted
	Statements   int64 // run on the index
}

// Work returns what has been done so far; zeros where the index cannot be used.
func (h *History) Work() Work {
	if h.ingest == nil {
		return Work{}
	}
	logs, index := h.ingest.Work(), h.index.Work()
	return Work{logs.Bytes, logs.Files, logs.Folders, logs.Identified, index.Transactions, index.Rows, index.Statements}
}
