package push

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// masked returns an event in which every credential that the rules know is
// masked, in its text and in its bytes, and how many there were in the bytes.
// What it is given stays as it is.
func (p *Pusher) masked(raw *session.Raw) (session.Raw, int) {
	out := *raw
	var n int
	out.Native, n = p.mask.JSON(raw.Native)
	b := &out.Event.Body
	b.Blocks = p.blocks(b.Blocks)
	if b.Title != nil {
		title, _ := p.mask.Text(*b.Title)
		b.Title = &title
	}
	for _, name := range []*string{&b.ErrorName, &b.ErrorCode, &b.CallID, &b.TitleOf, &out.Event.NativeID} {
		*name, _ = p.mask.Text(*name)
	}
	return out, n
}

func (p *Pusher) blocks(blocks []session.Block) []session.Block {
	out := slices.Clone(blocks)
	for i := range out {
		out[i].Text, _ = p.mask.Text(out[i].Text)
		out[i].Name, _ = p.mask.Text(out[i].Name)
		out[i].Content = p.blocks(out[i].Content)
	}
	return out
}

// weight is about how many bytes of text an event is.
func weight(raw *session.Raw) int64 {
	return int64(len(raw.Native)) + textOf(raw.Event.Body.Blocks) + 128
}

func textOf(blocks []session.Block) (n int64) {
	for _, b := range blocks {
		n += int64(len(b.Text)+len(b.Name)) + textOf(b.Content)
	}
	return n
}
