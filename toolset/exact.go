package toolset

import (
	"context"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
)

func (s *Set) traceSession(ctx context.Context, call Call, a args) (string, any, error) {
	grant, err := s.target(ctx, call, a)
	if err != nil {
		return "", nil, err
	}
	line, err := grant.Trace(ctx)
	if err != nil {
		return "", nil, err
	}
	return render.LineageText(line), line, nil
}

// traceEvent checks the seq before it asks who calls.
func (s *Set) traceEvent(ctx context.Context, call Call, a args) (string, any, error) {
	seq, err := a.seq("seq")
	if err != nil {
		return "", nil, err
	}
	grant, err := s.target(ctx, call, a)
	if err != nil {
		return "", nil, err
	}
	relations, err := grant.TraceEvent(ctx, *seq)
	if err != nil {
		return "", nil, err
	}
	return render.RelationsText(relations), relations, nil
}

// readEvent checks in this order: that the numbers are none below zero, caller,
// target, how many neighbours, the event.
func (s *Set) readEvent(ctx context.Context, call Call, a args) (string, any, error) {
	var numbers [3]int64
	for i, name := range []string{"seq", "before", "after"} {
		n, err := a.seq(name)
		if err != nil {
			return "", nil, err
		}
		if n != nil {
			numbers[i] = *n
		}
	}
	seq, before, after := numbers[0], numbers[1], numbers[2]
	grant, err := s.target(ctx, call, a)
	if err != nil {
		return "", nil, err
	}
	if most := int64(max(0, s.options.ReadWindow)); before > most || after > most {
		return "", nil, refuse(fault.InvalidWindow, "before and after may be at most %d here, but are %d and %d", most, before, after)
	}
	window, err := grant.Read(ctx, seq, before, after)
	if err != nil {
		return "", nil, err
	}
	return render.WindowText(window), window, nil
}
