//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/bench/measured"
)

// dashboard measures the pages that people look at.
func (b *bench) dashboard(ctx context.Context, s *measured.Sandbox) error {
	const target = 100 * time.Millisecond
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	visitor := &visitor{http.Client{Jar: jar}, s.Root()}
	if err := visitor.logIn(ctx, s.Key); err != nil {
		return err
	}
	for _, page := range []struct{ figure, path string }{
		{"the dashboard's overview", "/"},
		{"its cards, first page", "/cards"},
		{"its cards, last page", "/cards?page=200"},
		{"its cards, a search for many", "/cards?q=campaign"},
		{"its cards, a search for none", "/cards?q=nothing"},
		{"its page of a card", "/cards/" + cardID(cards/2)},
		{"its transactions with their sums", "/transactions"},
		{"its transactions, last page", fmt.Sprintf("/transactions?page=%d", transactions/50)},
		{"its transactions of one type", "/transactions?type=decline"},
		{"its transactions of some cards", "/transactions?q=campaign+77"},
		{"its transactions of all cards that there are", "/transactions?q=campaign"},
		{"its challenges", "/3ds"},
		{"its deposits", "/deposits"},
		{"its webhooks", "/webhooks"},
		{"its requests", "/requests"},
		{"its ledger", "/ledger"},
		{"its ledger, last page", fmt.Sprintf("/ledger?page=%d", cards/50)},
		{"its transactions of one card", "/transactions?q=" + cardID(cards/2)},
		{"its transactions of many cards and some days", "/transactions?q=campaign+1&from=2026-01-05&to=2026-01-09"},
		{"its question whether anything has changed", "/live"},
	} {
		err := b.often(target, page.figure, func() error {
			_, err := visitor.send(ctx, http.MethodGet, page.path, nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// visitor looks at the dashboard.
type visitor struct {
	client http.Client
	root   string
}

var tokenField = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

func (v *visitor) logIn(ctx context.Context, key string) error {
	page, err := v.send(ctx, http.MethodGet, "/login", nil)
	if err != nil {
		return err
	}
	token := tokenField.FindStringSubmatch(page)
	if token == nil {
		return fmt.Errorf("the page to log in has no form: %s", page)
	}
	_, err = v.send(ctx, http.MethodPost, "/login", url.Values{"token": {token[1]}, "key": {key}})
	return err
}

// send returns a page.
func (v *visitor) send(ctx context.Context, method, path string, form url.Values) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, v.root+path, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", v.root)
	}
	response, err := v.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s was answered %d: %s", method, path, response.StatusCode, page)
	}
	return string(page), err
}
