package reconcile

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// maxSums limits how many sums are listed one by one.
const maxSums = 1024

// sums is the set of possible totals of some amounts. The zero value is empty.
type sums struct {
	values  []usd.Amount // sorted
	between bool         // there were too many to list: any amount from the least to the most is possible
}

// onlyZero returns the set that contains only 0.
func onlyZero() sums { return sums{values: []usd.Amount{0}} }

// least returns the least sum. s must not be empty.
func (s sums) least() usd.Amount { return s.values[0] }

// most returns the greatest sum. s must not be empty.
func (s sums) most() usd.Amount { return s.values[len(s.values)-1] }

// increased returns each sum plus an amount.
func (s sums) increased(by usd.Amount) sums {
	values := make([]usd.Amount, len(s.values))
	for i, value := range s.values {
		values[i] = value + by
	}
	return sums{values: values, between: s.between}
}

// union returns the sums of both sets. If there are too many to list, it keeps the least and the
// greatest.
func (s sums) union(others sums) sums {
	if len(others.values) == 0 {
		return s
	}
	values := make([]usd.Amount, 0, len(s.values)+len(others.values))
	values = append(values, s.values...)
	values = append(values, others.values...)
	slices.Sort(values)
	values = slices.Compact(values)
	if s.between || others.between || len(values) > maxSums {
		return sums{values: []usd.Amount{values[0], values[len(values)-1]}, between: true}
	}
	return sums{values: values}
}

// plus returns the sums of a value of s and a value of others.
func (s sums) plus(others sums) sums {
	if len(others.values) > len(s.values) { // the loop is faster over the smaller set
		return others.plus(s)
	}
	var all sums
	for _, other := range others.values {
		all = all.union(s.increased(other))
	}
	// If any amount between the values of others is possible, any amount between the totals counts as possible.
	all.between = all.between || others.between
	return all
}

// nearest returns the sum that is nearest to an amount. s must not be empty.
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
