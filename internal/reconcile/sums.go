package reconcile

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// maxSums limits how many sums are listed one by one.
const maxSums = 1024

// sums are the possible totals of some amounts. The zero value is empty.
type sums struct {
	values  []usd.Amount // sorted
	between bool         // there were too many to list: any amount from the least to the most is possible
}

// unchanged returns the sums of nothing.
func unchanged() sums { return sums{values: []usd.Amount{0}} }

func (s sums) least() usd.Amount { return s.values[0] }
func (s sums) most() usd.Amount  { return s.values[len(s.values)-1] }

// or returns the sums, and also each of the others increased by an amount.
func (s sums) or(others sums, increase usd.Amount) sums {
	if len(others.values) == 0 {
		return s
	}
	values := make([]usd.Amount, 0, len(s.values)+len(others.values))
	values = append(values, s.values...)
	for _, other := range others.values {
		values = append(values, other+increase)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if s.between || others.between || len(values) > maxSums {
		return sums{values: []usd.Amount{values[0], values[len(values)-1]}, between: true}
	}
	return sums{values: values}
}

// plus returns the sums of one of s and one of others.
func (s sums) plus(others sums) sums {
	if len(others.values) > len(s.values) { // the same result, computed faster
		return others.plus(s)
	}
	all := sums{between: others.between}
	for _, other := range others.values {
		all = all.or(s, other)
	}
	return all
}

// nearest returns the sum that is nearest to an amount.
func (s sums) nearest(a usd.Amount) usd.Amount {
	if s.between {
		return min(max(a, s.least()), s.most())
	}
	i, _ := slices.BinarySearch(s.values, a)
	above := s.values[min(i, len(s.values)-1)]
	below := s.values[max(i-1, 0)]
	if (a - above).Abs() < (a - below).Abs() {
		return above
	}
	return below
}
