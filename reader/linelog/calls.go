package linelog

// maxCalls is how many calls without a result are remembered.
const maxCalls = 32

// Calls are the latest tool calls of a log that have no result yet, for a
// decoder's state. Answers come in any order; the zero value holds none.
type Calls []Call

// Call is a tool call: its id as Key makes it, and the event that stands for it.
type Call struct {
	ID  uint64 `json:"id"`
	Seq int64  `json:"seq"`
}

// Ask remembers a call by its id, a JSON string.
func (c *Calls) Ask(id []byte, seq int64) {
	*c = append(*c, Call{Key(id), seq})
	*c = (*c)[max(0, len(*c)-maxCalls):]
}

// Answer forgets a call and returns its event, to be cited by the result; nil if
// the id names none of them.
func (c *Calls) Answer(id []byte) (sources []int64) {
	key := Key(id)
	for i, q := range *c {
		if q.ID == key && key != 0 {
			*c = append(append(Calls(nil), (*c)[:i]...), (*c)[i+1:]...)
			return []int64{q.Seq}
		}
	}
	return nil
}
