package session

import "github.com/yorehq/yore/fault"

// The event types that the model gives a meaning to. The vocabulary is open:
// a type that is not here is carried along and is log-only.
const (
	UserMessage      = "user/message"
	AssistantMessage = "assistant/message"
	ToolCall         = "tool/call"
	ToolResult       = "tool/result"
	AssistantChunk   = "assistant/chunk"
	TurnStart        = "turn/start"
	TurnEnd          = "turn/end"
	StepStart        = "step/start"
	StepEnd          = "step/end"
	TodoWrite        = "todo/write"
	TitleEvent       = "session/title"
)

// SurfaceType reports whether events of this type may be part of a model's
// context by append or replace.
func SurfaceType(t string) bool {
	return t == UserMessage || t == AssistantMessage || t == ToolResult
}

// Place is a reader's address of an event's record; opaque to everyone else.
type Place struct {
	Part   int64 // which of the source's files, or which table
	Offset int64 // byte offset of the record, or of the compressed frame that holds it; or a row number
	Inner  int64 // byte offset inside the decoded frame
}

// Event is one entry of a session's append-only log.
//
// Events are numbered from 0 without gaps. One Event value may stand for a run
// of Span consecutive events of the same type that are log-only and have no
// text (packed stream chunks); Seq and Time are then the first one's.
type Event struct {
	Seq       int64
	Span      int64 // how many events this value stands for; 0 counts as 1
	Type      string
	Time      int64 // epoch milliseconds
	Place     Place
	Body      Body
	Ignorable bool // a reader that does not know the type may skip it

	Op      Op      // what the event does to the surface
	Sources []int64 // earlier events it cites, as recorded; nil: not recorded

	NativeID string // the agent's own id of the record, where copies of it in other sessions keep it; "": none

	Resume string // of the reader: what a window needs to begin here, kept with the event's checkpoint; "": none offered
	Breaks bool   // a window that began at the latest Resume cannot give this event and what follows

	Sameness      uint64 // of a tool/result: a hash of everything but its content, for the replace rule; 0: not checked
	Step          bool   // a step of the model begins here: an own-session search stops before the latest one
	Reconstructed bool   // has no bytes of its own: made or upgraded by the reader
	Provisional   bool   // a closing record that exists in the view only and is withdrawn when the log grows
}

// Len returns how many events the value stands for, at least 1.
func (e *Event) Len() int64 { return max(e.Span, 1) }

// OpKind says what an event does to the surface.
type OpKind uint8

// The kinds of surface operation.
const (
	OpNone    OpKind = iota // the event is log-only
	OpAppend                // its seq goes to the end of the surface
	OpReplace               // it takes the place of the entries from Start to End
	OpSelect                // the surface becomes its entries up to and including Keep, then Nodes
)

// Op is a surface operation. The zero value does nothing.
//
// A select is given as a difference so that many rewinds of one log are not
// quadratic: Keep is the last entry that stays (-1: none stays) and Nodes are
// the earlier surface events that follow it, in order. A select may bring back
// events that were taken out before; the event itself does not join the surface.
type Op struct {
	Kind       OpKind
	Start, End int64   // OpReplace: names of positions; Start may be numerically greater than End
	Keep       int64   // OpSelect
	Nodes      []int64 // OpSelect
}

// Speaker says who an event's text comes from.
type Speaker uint8

// The speakers.
const (
	NoSpeaker Speaker = iota
	Human             // typed by a person
	Injected          // put into the context by a program
	Summary           // a compaction's summary
	Assistant         // the model
	Tool              // a tool's result
	Action            // a tool call or a todo list
)

// Body is what readers extract from a record, in one shape for every agent.
// Text extraction, fold, ranking and titles see the body and nothing else.
type Body struct {
	Speaker   Speaker
	Blocks    []Block
	CallID    string // of a tool/call or tool/result
	ErrorName string // of a failed tool/result
	ErrorCode string

	Title      *string    // of a title event
	TitleOf    string     // the title is that of whichever session of the workspace holds the record with this NativeID; "": of this one
	Makeshift  bool       // the title is only the beginning of a prompt: one that another session states outranks it
	TitleFault fault.Code // of a title event that cannot be understood

	Clipped bool // some text was longer than a reader takes in; reads still return all of it
}

// BlockKind is the kind of a content block.
type BlockKind uint8

// The kinds of block that carry searchable text. Reasoning, images and unknown
// kinds are not represented at all.
const (
	TextBlock   BlockKind = iota // Text
	CallBlock                    // Name, then Text: the raw arguments
	ResultBlock                  // Content
)

// Block is one piece of an event's content.
type Block struct {
	Kind    BlockKind
	Text    string
	Name    string
	Content []Block
}
