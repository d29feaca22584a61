//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/bench/measured"
)

// crowds measures how long the slowest of many clients wait.
func (b *bench) crowds(ctx context.Context, s *measured.Sandbox) error {
	for _, c := range []struct {
		figure string
		call   func(context.Context) error
	}{
		{"GET /cards/{id}, 64 clients, 99th percentile", readCard(s)},
		{"POST /cards/{id}/fund, 64 clients, 99th percentile", fund(s)},
	} {
		took, err := load(ctx, crowd, c.call)
		if err != nil {
			return err
		}
		b.within(50*time.Millisecond, c.figure, p99(took))
	}
	return nil
}

// audits measures the API beside control calls that read a lot.
func (b *bench) audits(ctx context.Context, s *measured.Sandbox) error {
	auditing, stop := context.WithCancel(ctx)
	var audits errgroup.Group
	for i := range 12 {
		path := []string{"/_sandbox/ledger", "/_sandbox/requests", "/_sandbox/deliveries"}[i%3]
		audits.Go(func() error {
			for auditing.Err() == nil {
				if err := s.Call(auditing, http.MethodGet, path, "", nil); err != nil && auditing.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	took, err := load(ctx, 1, func(ctx context.Context) error { return s.Call(ctx, http.MethodGet, "/bins", "", nil) })
	stop()
	if err := errors.Join(err, audits.Wait()); err != nil {
		return err
	}
	b.within(500*time.Millisecond, "GET /bins beside 12 control reads, the slowest", took[len(took)-1])
	return nil
}

// hour makes as many calls as the documented limit of a minute allows in an hour.
func (b *bench) hour(ctx context.Context, s *measured.Sandbox) error {
	const calls, before = 60_000, 10_000
	var first measured.Megabytes
	for done := 0; done < calls; done += before {
		var group errgroup.Group
		for range clients {
			group.Go(func() error {
				for i := range before / clients {
					call := readCard(s)
					if i%4 == 0 {
						call = fund(s)
					}
					if err := call(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if done == 0 {
			first = s.Memory()
		}
	}
	last := s.Memory()
	b.report("memory after 10,000 and 60,000 calls", fmt.Sprintf("%d, %d MB", first, last), "within 20 %", last*100 <= first*120)
	return nil
}

// crowdOfIdle opens many connections that have nothing to say, and then more than
// the sandbox keeps.
func (b *bench) crowdOfIdle(ctx context.Context, s *measured.Sandbox) error {
	const most, kept, more = 230, 9_000, 1_500 // 230 MB are 220 MiB
	var all []net.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	open := func(n int) error {
		for range n {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(s.Root(), "http://"))
			if err != nil {
				return err
			}
			all = append(all, c)
			if err := ask(c, s.Key); err != nil {
				return err
			}
		}
		return nil
	}
	if err := open(kept); err != nil {
		return err
	}
	memory := s.Memory()
	b.report("memory with 9,000 idle connections", fmt.Sprintf("%d MB", memory), fmt.Sprintf("at most %d MB", most), memory <= most)
	if err := open(more); err != nil {
		return err
	}
	oldest := ask(all[0], s.Key)
	b.report("the oldest of 10,500 idle connections", map[bool]string{true: "closed", false: "open"}[oldest != nil], "closed", oldest != nil)
	newest := ask(all[len(all)-1], s.Key)
	b.report("the newest of them", map[bool]string{true: "closed", false: "open"}[newest != nil], "open", newest == nil)
	return nil
}

// ask makes a call on a connection.
func ask(c net.Conn, key string) error {
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "GET /api/v1/bins HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer %s\r\n\r\n", key); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}
