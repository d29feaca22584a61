//go:build unix

package main

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// How much data a seeded file holds.
const (
	cards        = 10_000
	transactions = 100_000
)

// cardID is the id of a seeded card, from 1 to cards.
func cardID(n int) string { return fmt.Sprintf("card_benchmark%08d", n) }

//go:embed seed.sql
var seedScript string

// seed fills a sandbox's file behind the service's back: issuing so much through
// the API would take minutes. The ledger stays balanced, since every card is paid
// from the wallet, and since the transactions are declines, which move no money.
func seed(ctx context.Context, path string) (err error) {
	pragmas := url.Values{"_pragma": {"journal_mode(off)", "synchronous(off)", "cache_size(-256000)", "locking_mode(exclusive)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, seedScript, sql.Named("cards", cards), sql.Named("transactions", transactions))
	if closed := db.Close(); err == nil {
		err = closed
	}
	return err
}
