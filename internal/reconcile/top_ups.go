package reconcile

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Month is a calendar month in UTC: twelve times the year, plus 0 for January to 11 for December.
type Month int

// MonthOf returns the month of a moment, and 0 for the zero time.
func MonthOf(at time.Time) Month {
	if at.IsZero() {
		return 0
	}
	at = at.UTC()
	return Month(12*at.Year() + int(at.Month()) - 1)
}

// First returns the start of the month.
func (m Month) First() time.Time {
	return time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// TopUps is what top-ups have added in a month. Money that may be a top-up counts as one.
type TopUps struct {
	Month Month
	Sum   usd.Amount // Unknown if it is not known
}

// Unknown stands for a sum that is not known. It is the highest amount, so Left returns 0 for its month.
const Unknown = usd.Max

// add adds a sum in a month. A month before t.Month counts as t.Month, so that a clock that was ahead does
// not reset the cap.
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

// Range is the attribute top_up with its cap: if a balance is less than Below, a top-up raises it to To.
type Range struct {
	Below, To usd.Amount
	Limit     *usd.Amount // the attribute max_top_up_per_month: the most that top-ups may add in a month; nil without a cap
}

// Due returns the top-up that a balance requires: zero if the balance is not below the range, and at
// most what the cap leaves for the month after the top-ups so far.
func (r Range) Due(balance usd.Amount, soFar TopUps, month Month) usd.Amount {
	if balance >= r.Below {
		return 0
	}
	due := r.To - balance
	if r.Limit != nil {
		due = min(due, soFar.Left(*r.Limit, month))
	}
	return due
}

// Left returns what a cap leaves for a month. A month before t.Month, such as 0, counts as t.Month.
func (t TopUps) Left(limit usd.Amount, month Month) usd.Amount {
	if month > t.Month {
		return limit
	}
	return max(0, limit-t.Sum)
}
