package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
)

// Count counts what Erase would take out, and takes nothing. A workspace counts
// where it would go as a whole. After an erasure it is the proof that nothing of
// what was chosen is left in any row.
func (t *Tenant) Count(ctx context.Context, which Erasure) (sum Erased, err error) {
	if which.Workspace == nil && which.Person == nil && which.Before.IsZero() && which.Sessions == nil {
		return sum, fault.New(fault.InvalidArgs, "nothing says what is to be counted")
	}
	var some []string
	if which.Workspace != nil {
		some = []string{*which.Workspace}
	}
	_, keys, err := t.scopes(ctx, some)
	if err != nil {
		return sum, err
	}
	if which.Workspace != nil && which.Person == nil && which.Before.IsZero() && which.Sessions == nil {
		sum.Workspaces = int64(len(keys))
	}
	for _, key := range keys {
		err := t.db.within(ctx, reading, reach{t.name, []int64{key}}, func(tx pgx.Tx) error {
			w := &Writer{tx: tx, ctx: ctx, key: key}
			nums, err := w.chosen(ctx, which)
			for i := 0; err == nil && i < len(nums); i++ {
				var one Erased
				if one, err = w.count(ctx, nums[i]); err == nil {
					sum.add(one)
				}
			}
			return err
		})
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// ForgetPerson removes a person's tokens of the tenant and the record of what they
// asked, and returns how many of each there were.
func (t *Tenant) ForgetPerson(ctx context.Context, person string) (tokens, records int64, err error) {
	return t.db.forgetPerson(ctx, t.name, person)
}
