package query

import (
	"context"
	"errors"
)

// steadyRounds bounds how often one answer is begun again.
const steadyRounds = 8

// steady makes an answer, and makes it anew when a shard changed between two
// looks into it (ErrMoved): more of them were open than a store keeps, and
// others write. Each round sees what is committed when it begins.
func steady[T any](ctx context.Context, answer func() (T, error)) (T, error) {
	for round := 1; ; round++ {
		a, err := answer()
		if !errors.Is(err, ErrMoved) || round == steadyRounds || ctx.Err() != nil {
			return a, err
		}
	}
}

// again is steady for answers of several parts, which each round sets anew.
func again(ctx context.Context, answer func() error) error {
	_, err := steady(ctx, func() (struct{}, error) { return struct{}{}, answer() })
	return err
}
