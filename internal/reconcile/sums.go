package reconcile

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// maxSums is how many sums are told apart.
const maxSums = 1024

// sums are what amounts may add up to. The zero value holds none.
type sums struct {
	values  []usd.Amount // in order
	between bool         // they were too many: whatever lies between may be one too
}

func unchanged() sums { return sums{values: []usd.Amount{0}} }

func (s sums) least() usd.Amount { return s.values[0] }
func (s sums) most() usd.Amount  { return s.values[len(s.values)-1] }

// or adds others, each with a further amount.
func (s sums) or(others sums, further usd.Amount) sums {
	if len(others.values) == 0 {
		return s
	}
	all := sums{make([]usd.Amount, len(s.values), len(s.values)+len(others.values)), s.between || others.between}
	copy(all.values, s.values)
	for _, other := range others.values {
		all.values = append(all.values, other+further)
	}
	slices.Sort(all.values)
	all.values = slices.Compact(all.values)
	if all.between = all.between || len(all.values) > maxSums; all.between {
		all.values = []usd.Amount{all.least(), all.most()}
	}
	return all
}

// plus returns the sums of one of each.
func (s sums) plus(others sums) sums {
	if len(others.values) > len(s.values) { // it is the same, and faster
		s, others = others, s
	}
	all := sums{between: others.between}
	for _, other := range others.values {
		all = all.or(s, other)
	}
	return all
}

// nearest is the sum that is the nearest to an amount.
func (s sums) nearest(a usd.Amount) usd.Amount {
	if s.between {
		return min(max(a, s.least()), s.most())
	}
	i, _ := slices.BinarySearch(s.values, a)
	above, below := s.values[min(i, len(s.values)-1)], s.values[max(i-1, 0)]
	if (a - above).Abs() < (a - below).Abs() {
		return above
	}
	return below
}
