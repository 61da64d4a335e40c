package archive

import (
	"context"

	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
)

// Original is a session in an agent's folder: the one of its logs that counts.
type Original struct {
	Reader reader.Reader
	Source reader.Source
}

// Mapping names what makes events out of its records.
func (o *Original) Mapping() string { return mapping(o.Reader) }

// Title returns what the agent keeps as a title outside of the log; "": nothing.
func (o *Original) Title(ctx context.Context) (string, error) {
	t, ok := o.Reader.(reader.Titler)
	if !ok {
		return "", nil
	}
	title, ok, err := t.Title(ctx, o.Source)
	if err != nil || !ok {
		return "", err
	}
	return title, nil
}

// Visit calls visit with every session below the roots that which takes and that
// is not forgotten (forgets may be nil), one log for each, as an archiver would
// take them. visit returns where it has read the log to, by which the sessions in
// its parts are found; its error ends the walk. What cannot be taken for a
// session is returned.
func Visit(ctx context.Context, roots []Root, which Which, forgets Forgets, visit func(Original) (reader.Position, error)) ([]Skip, error) {
	a := &Archiver{roots: roots, forgets: forgets}
	all, skips, err := a.originals(ctx, which)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, o := range all {
		taken[format.Path("", o.src.Header)] = true
	}
	for i := 0; i < len(all); i++ {
		at, err := visit(Original{all[i].reader, all[i].src})
		if err != nil {
			return skips, err
		}
		parts, err := a.without(all[i].parts(at))
		if err != nil {
			return skips, err
		}
		for _, part := range parts {
			if to := format.Path("", part.src.Header); which.takes(part.src.Header) && !taken[to] {
				taken[to] = true
				all = append(all, part)
			}
		}
	}
	return skips, nil
}

// Reason returns why a reading failed if that concerns one session alone, and
// whether it does.
func Reason(err error) (string, bool) {
	if u, ok := verdict(err).(*unfit); ok {
		return u.reason, true
	}
	return "", false
}
