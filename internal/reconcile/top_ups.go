package reconcile

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Month is a UTC calendar month: twelve times the year, and the months before it.
type Month int

// MonthOf is the month of a moment; 0 of the zero time.
func MonthOf(at time.Time) Month {
	if at.IsZero() {
		return 0
	}
	at = at.UTC()
	return Month(12*at.Year() + int(at.Month()) - 1)
}

// First is the first day of the month.
func (m Month) First() time.Time {
	return time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// TopUps is what top-ups, or what may be them, have added in a month.
type TopUps struct {
	Month Month
	Sum   usd.Amount // Unknown when it is not known
}

// Unknown is more than any cap.
const Unknown = usd.Max

func (t TopUps) add(month Month, sum usd.Amount) TopUps {
	if sum == 0 {
		return t
	}
	if month > t.Month {
		t = TopUps{Month: month}
	}
	t.Sum = min(t.Sum+sum, Unknown)
	return t
}

// Range is what top-ups keep a card in.
type Range struct {
	Below, To usd.Amount
	Limit     *usd.Amount // what top-ups may add in a month; nil without a cap
}

// Due is what a plan tops up a card with that holds so much then: nothing where it is
// not under the range, and no more than the month's cap leaves.
func (r Range) Due(balance usd.Amount, had TopUps, month Month) usd.Amount {
	if balance >= r.Below {
		return 0
	}
	due := r.To - balance
	if r.Limit != nil {
		due = min(due, had.Left(*r.Limit, month))
	}
	return due
}

// Left is what a cap leaves for a month. Without a month it is that of the record.
func (t TopUps) Left(limit usd.Amount, month Month) usd.Amount {
	if month > t.Month {
		return limit
	}
	return max(0, limit-t.Sum)
}
