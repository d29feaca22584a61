//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/bench/measured"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// measure goes through all figures.
func (b *bench) measure(ctx context.Context) error {
	if err := b.starts(ctx); err != nil {
		return err
	}
	s, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer s.Kill()
	for _, step := range []func(context.Context, *measured.Sandbox) error{
		b.pages, b.dashboard, b.reads, b.funds, b.crowds, b.audits, b.survival, b.memory,
	} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context, *measured.Sandbox) error{b.hour, b.crowdOfIdle} {
		fresh, err := b.start(ctx)
		if err != nil {
			return err
		}
		err = step(ctx, fresh)
		fresh.Kill()
		if err != nil {
			return err
		}
	}
	return nil
}

// starts measures the time from the beginning of a process to its address.
func (b *bench) starts(ctx context.Context) error {
	var took []time.Duration
	for range 5 {
		began := time.Now()
		s, err := b.start(ctx)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		s.Kill()
	}
	b.within(300*time.Millisecond, "from start to listening", median(took))
	return nil
}

func (b *bench) pages(ctx context.Context, s *measured.Sandbox) error {
	const quick, usual = 3 * time.Millisecond, 20 * time.Millisecond
	for _, page := range []struct {
		figure, path string
		target       time.Duration
	}{
		{"the wallet of 10,000 cards", "/wallet/balance", quick},
		{"100 cards of 10,000, first page", "/cards?per_page=100", usual},
		{"100 cards of 10,000, last page", fmt.Sprintf("/cards?per_page=100&page=%d", cards/100), quick},
		{"100 active cards, last page", fmt.Sprintf("/cards?per_page=100&status=active&page=%d", cards*9/10/100), quick},
		{"100 transactions of 100,000, first page", "/transactions?per_page=100", usual},
		{"100 transactions of 100,000, last page", fmt.Sprintf("/transactions?per_page=100&page=%d", transactions/100), usual},
		{"100 declines of 100,000, last page", fmt.Sprintf("/transactions?per_page=100&type=decline&page=%d", transactions/100), usual},
		{"100 settlements of none", "/transactions?per_page=100&type=settlement", usual},
		{"100 transactions of a day in the middle", "/transactions?per_page=100&from=2026-01-12&to=2026-01-12", usual},
		{"100 transactions of the first day, last page", "/transactions?per_page=100&to=2026-01-01&page=43", usual},
		{"100 transactions of one card", "/transactions?per_page=100&card_id=" + cardID(cards/2), usual},
	} {
		err := b.often(page.target, page.figure, func() error { return s.Call(ctx, http.MethodGet, page.path, "", nil) })
		if err != nil {
			return err
		}
	}
	return nil
}

// often reports the median of the times that something takes.
func (b *bench) often(target time.Duration, figure string, do func() error) error {
	var took []time.Duration
	for range 51 {
		began := time.Now()
		if err := do(); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	b.within(target, figure, median(took))
	return nil
}

// reads measures reading with the limits away, and with limits too high to be
// reached: then every read is counted, which is a write.
func (b *bench) reads(ctx context.Context, s *measured.Sandbox) error {
	for _, limits := range []struct {
		figure string
		most   int64
	}{
		{"GET /cards/{id}, counted", 1_000_000_000},
		{"GET /cards/{id}", 0},
	} {
		if err := s.LimitRequests(ctx, limits.most); err != nil {
			return err
		}
		took, err := load(ctx, clients, readCard(s))
		if err != nil {
			return err
		}
		b.atLeast(3_000, limits.figure, rate(took))
	}
	return nil
}

func (b *bench) funds(ctx context.Context, s *measured.Sandbox) error {
	took, err := load(ctx, clients, fund(s))
	b.atLeast(1_500, "POST /cards/{id}/fund", rate(took))
	return err
}

// survival kills the process amid funds, and counts them in the wallet of the
// next one: those that were answered are there, beside at most those under way.
func (b *bench) survival(ctx context.Context, s *measured.Sandbox) error {
	before, err := s.WalletBalance(ctx)
	if err != nil {
		return err
	}
	timer := time.AfterFunc(loaded/2, s.Kill)
	defer timer.Stop()
	took, err := load(ctx, clients, fund(s))
	if err == nil {
		return errors.New("the killed process went on")
	}
	next, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer next.Kill()
	after, err := next.WalletBalance(ctx)
	if err != nil {
		return err
	}
	kept, answered := int64((before-after)/fundAmount), int64(len(took))
	b.report("funds answered, then kill -9: kept", fmt.Sprintf("%d of %d", min(kept, answered), answered), "all",
		kept >= answered && kept <= answered+clients)
	return nil
}

func (b *bench) memory(_ context.Context, s *measured.Sandbox) error {
	const limit = 150
	peak := s.PeakMemory()
	b.report("memory at its peak", fmt.Sprintf("%d MB", peak), fmt.Sprintf("at most %d MB", limit), peak <= limit)
	return nil
}

func (b *bench) start(ctx context.Context) (*measured.Sandbox, error) {
	return measured.Start(ctx, b.program, "--data="+b.file)
}

const fundAmount = 1 * usd.Cent

// readCard returns a call that reads one of the seeded cards.
func readCard(s *measured.Sandbox) func(context.Context) error {
	return func(ctx context.Context) error { return s.Call(ctx, http.MethodGet, "/cards/"+anyCard(), "", nil) }
}

// fund returns a call that funds one of the seeded cards.
func fund(s *measured.Sandbox) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.Call(ctx, http.MethodPost, "/cards/"+anyCard()+"/fund", `{"amount":`+fundAmount.String()+`}`, nil)
	}
}

func anyCard() string { return cardID(1 + rand.IntN(cards)) }
