package e2e

import (
	"net/http/httptest"

	"github.com/yorehq/yore/internal/mockmodel"
)

// The prompts of a run, each with what the model does.
const (
	counts   = "Count the lanterns in the hall." // two commands at once, one of which fails
	resumes  = "Now count the candles."          // one command
	shortens = "And what of the mirrors?"        // after a compaction
	copies   = "In this copy, count the doors."  // in a fork
	forgets  = "Forget the doors, count steps."  // after that was taken back
	dies     = "Now the windows, please."        // killed while the answer comes
	returns  = "Go on with the carpets."         // after that
)

// summary is what the model answers to whatever is no step of a session. The
// form is that of the client which asks for one.
const summary = "<state_snapshot>\nThe hall has seven lanterns and nine candles.\n</state_snapshot>"

// askSummary is in what clients ask for a compaction that offer their tools with it.
var askSummary = []string{
	"Create a handoff summary", "Please create a detailed summary of the conversation so far", "You are the component that summarizes a conversation",
}

// asides are in what clients ask beside a session, with its conversation: what a
// person may say next, what is to be remembered.
var asides = []string{"[SUGGESTION MODE", "Managed memory has TWO directories"}

// run serves the script of a run; shell makes a call of the client's own tool for
// commands. It returns the model and its address.
func (h *home) run(shell func(command string) mockmodel.Call) (*mockmodel.Handler, string) {
	var threads []mockmodel.Thread
	for _, a := range askSummary {
		threads = append(threads, mockmodel.Thread{Prompt: a, Turns: []mockmodel.Turn{{Text: summary}}})
	}
	model := mockmodel.NewThreads(summary, append(threads, []mockmodel.Thread{
		{Prompt: counts, Turns: []mockmodel.Turn{
			{Text: "I look at both ends.", Calls: []mockmodel.Call{shell("echo seven lanterns"), shell("ls the-far-end")}},
			{Text: "There are seven lanterns."},
		}},
		{Prompt: resumes, Turns: []mockmodel.Turn{{Calls: []mockmodel.Call{shell("echo nine candles; echo two of wax")}}, {Text: "Nine candles, two of wax."}}},
		{Prompt: shortens, Turns: []mockmodel.Turn{{Text: "No mirrors at all."}}},
		{Prompt: copies, Turns: []mockmodel.Turn{{Calls: []mockmodel.Call{shell("echo four doors")}}, {Text: "Four doors here."}}},
		{Prompt: forgets, Turns: []mockmodel.Turn{{Text: "Nineteen steps."}}},
		{Prompt: dies, Turns: []mockmodel.Turn{{Text: "The windows are many, and their number will never be told.", Stall: true}}},
		{Prompt: returns, Turns: []mockmodel.Turn{{Text: "Two carpets, both red."}}},
	}...))
	server := httptest.NewServer(model)
	h.t.Cleanup(server.Close)
	return model, server.URL
}
