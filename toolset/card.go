package toolset

import (
	"encoding/json"
	"fmt"

	"github.com/yorehq/yore/internal/render"
)

// Card is how a host with a screen shows a call.
type Card struct {
	Kind  string          // search or read
	Title string          // one short safe line
	Input json.RawMessage // the arguments as the model wrote them
}

// maxCard is the length of a card's title in code points.
const maxCard = 80

// CardOf describes a call, whatever its arguments are.
func CardOf(name string, input json.RawMessage) Card {
	card := Card{Kind: "read", Title: name, Input: input}
	t, ok := find(name)
	if !ok {
		card.Title = render.Line(name, maxCard)
		return card
	}
	card.Title = t.Title
	if t.Class == Exclusive {
		card.Kind = "search"
	}
	a, err := t.decode(input)
	if err != nil {
		return card
	}
	if q, ok := a.text("query"); ok {
		card.Title += ": " + q
	}
	if id, ok := a.text("session_id"); ok {
		card.Title += " in " + id
	}
	if seq, ok := a.integer("seq"); ok {
		card.Title += fmt.Sprintf(" #%d", seq)
	}
	card.Title = render.Line(card.Title, maxCard)
	return card
}
