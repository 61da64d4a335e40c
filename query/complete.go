package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// Completer is implemented by snapshots that can list their tokens.
type Completer interface {
	// Complete returns the tokens that begin with a prefix and in how many
	// documents each is, deleted ones included. Of very many it may leave some out.
	Complete(ctx context.Context, prefix string) (map[string]int64, error)
}

// shortest is how many characters a word must have to be completed.
const shortest = 2

// Complete finishes the last word of a query that is being typed: where nothing
// in the scope holds it, by the word most documents hold that begins with it. It
// returns what is to be added to the query, "" where there is nothing to add. It
// answers from what is indexed. What it adds may be of sessions that a search
// leaves out, so it is for the owner of the history.
func (e *Engine) Complete(ctx context.Context, scope session.Scope, query string) (rest string, err error) {
	last := document.Token{}
	for t := range document.Tokens(query) {
		last = t
	}
	if last.End != len(query) || last.Text == "" || utf8.RuneCountInString(last.Text) < shortest {
		return "", nil
	}
	if err := e.searchable(); err != nil {
		return "", err
	}
	return steady(ctx, func() (string, error) { return e.complete(ctx, scope, last.Text) })
}

func (e *Engine) complete(ctx context.Context, scope session.Scope, prefix string) (rest string, err error) {
	vs, err := e.openViews(ctx, scope)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	sum := map[string]int64{}
	for _, v := range vs {
		c, ok := v.snap.(Completer)
		if !ok {
			continue
		}
		some, err := c.Complete(ctx, prefix)
		if err != nil {
			return "", err
		}
		for token, n := range some {
			sum[token] += n
		}
	}
	if sum[prefix] > 0 || len(sum) == 0 {
		return "", nil
	}
	tokens := make([]string, 0, len(sum))
	for t := range sum {
		tokens = append(tokens, t)
	}
	best := slices.MaxFunc(tokens, func(a, b string) int {
		return cmp.Or(cmp.Compare(sum[a], sum[b]), cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
	})
	return best[len(prefix):], nil
}
