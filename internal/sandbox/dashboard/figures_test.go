package dashboard_test

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// cents reads an amount, or a number, as a page shows it. It panics if the text is neither.
func cents(text string) usd.Amount {
	digits := strings.NewReplacer(",", "", ".", "", "+", "", "&#43;", "").Replace(text)
	return usd.Amount(sandboxtest.Must(strconv.ParseInt(digits, 10, 64)))
}

// figure returns the amount that a page shows under a name.
func (p seen) figure(name string) usd.Amount {
	p.t.Helper()
	found := p.find(`<dt>` + name + `</dt><dd[^>]*>((?:&#43;|[+-])?[\d,]+\.\d\d)`)
	if found == "" {
		p.t.Fatalf("%s has no figure %q", p.Request.URL, name)
	}
	return cents(found)
}

// sums adds up the transactions that the API lists for a query. The keys of the result are the types of transactions,
// "fee" for all fees, and "number of " with a type.
func sums(s *sandboxtest.Server, query string) map[string]usd.Amount {
	s.T.Helper()
	all := map[string]usd.Amount{}
	for page := 1; ; page++ {
		var list struct {
			Data []struct {
				Type   string     `json:"type"`
				Amount usd.Amount `json:"amount"`
				Fee    usd.Amount `json:"fee"`
			} `json:"data"`
		}
		s.Get(fmt.Sprintf("/transactions?per_page=100&page=%d&%s", page, query)).Into(&list)
		for _, t := range list.Data {
			all[t.Type] += t.Amount
			all["fee"] += t.Fee
			all["number of "+t.Type]++
		}
		if len(list.Data) == 0 {
			return all
		}
	}
}

// The figures on the pages are the sums of what the API lists, after a run with changes and purchases with fees.
func TestFiguresAreSums(t *testing.T) {
	t.Parallel()
	s, cards := night(t)
	b := newBrowser(t, s).logIn(s.Key)
	s.Settle(s.Authorize(cards["social-ads"], "20", "7311", `"fee":0.25`).Transaction(), "19.50", `"fee":0.10`).OK(201)
	compared := 0
	same := func(figure string, got, want usd.Amount) {
		t.Helper()
		compared++
		sandboxtest.Equal(t, figure, got.String(), want.String())
	}
	var wallet struct {
		Balance usd.Amount `json:"balance"`
		Pending usd.Amount `json:"pending_deposits"`
		Cards   usd.Amount `json:"cards_total_balance"`
	}
	s.Get("/wallet/balance").Into(&wallet)
	accounts := map[string]usd.Amount{}
	var ledger struct {
		Accounts []struct {
			Name    string     `json:"name"`
			Balance usd.Amount `json:"balance"`
		} `json:"accounts"`
	}
	s.Get("/_sandbox/ledger").Into(&ledger)
	for _, a := range ledger.Accounts {
		accounts[a.Name] = a.Balance
	}
	overview := b.get("/")
	month := sums(s, "from=2026-11-01")
	same("the wallet", overview.figure("Wallet"), wallet.Balance)
	same("on cards", overview.figure("On cards"), wallet.Cards)
	same("held", overview.figure("Held by authorizations"), accounts["holds"])
	same("pending", overview.figure("Pending deposits"), wallet.Pending)
	same("spent", cents(overview.find(`Spent this month <small>([\d,.]+)`)), month["settlement"]-month["refund"])
	all := sums(s, "")
	days := b.get("/?days=90")
	same("settled by day", cents(days.find(`Purchases by day <small>([\d,.]+) settled`)), all["settlement"])
	same("held by day", cents(days.find(`settled, ([\d,.]+) held`)), accounts["holds"])
	same("net by day", cents(days.find(`refunded: ([\d,.]+) net`)), all["settlement"]-all["refund"])
	for _, name := range []string{"wallet", "holds", "fees", "merchants", "deposits"} {
		same("the ledger's "+name, cents(b.get("/ledger").find(`<td class="name">`+name+`</td>(?:<td>[^<]*</td>)<td class="number">(-?[\d,.]+)`)), accounts[name])
	}
	listed := b.get("/cards")
	for label, id := range cards {
		page := b.get("/cards/" + id)
		query := "card_id=" + id
		all := sums(s, query)
		month := sums(s, query+"&from=2026-11-01")
		same(label+": balance", page.figure("Balance"), accounts[id])
		same(label+": balance in the list", cents(listed.find(`id="`+id+`".*?fig"><span>([\d,.]+)`)), accounts[id])
		same(label+": spent", page.figure("Spent this month"), month["settlement"]-month["refund"])
		same(label+": spent in the list", cents(listed.find(`id="`+id+`".*?data-label="spent">([\d,.]+)`)), month["settlement"]-month["refund"])
		total := b.get("/transactions?q=" + id)
		same(label+": settled", total.figure("Settled"), all["settlement"])
		same(label+": refunded", total.figure("Refunded"), all["refund"])
		same(label+": net", total.figure("Net"), all["settlement"]-all["refund"])
		same(label+": fees", total.figure("Fees"), all["fee"])
		same(label+": purchases", cents(total.find(`<dt>Purchases</dt><dd>(\d+)`)), all["number of authorization"]+all["number of decline"])
		same(label+": declines", cents(total.find(`<small>(\d+) declined`)), all["number of decline"])
	}
	var toCards, fromCards, fees usd.Amount // of the run
	var log struct {
		Data []struct {
			Run    string     `json:"run"`
			Wallet usd.Amount `json:"wallet"`
			Fee    usd.Amount `json:"fee"`
		} `json:"data"`
	}
	s.Get("/_sandbox/requests").Into(&log)
	for _, r := range log.Data {
		if r.Run == "decade00" {
			toCards += max(0, -r.Wallet-r.Fee)
			fromCards += max(0, r.Wallet)
			fees += r.Fee
		}
	}
	run := b.get("/runs/decade00")
	same("the run's wallet", run.figure("Wallet"), fromCards-toCards-fees)
	same("the run's loads", run.figure("To cards"), -toCards)
	same("the run's withdrawals", run.figure("From cards"), fromCards)
	same("the run's fees", run.figure("Fees"), -fees)
	const minCompared = 40
	if compared < minCompared {
		t.Errorf("%d figures were compared, want at least %d", compared, minCompared)
	}
}

var update = flag.Bool("update", false, "update the files in testdata")

// golden fails the test unless a text is equal to the content of a file. With -update, it writes the file first.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		sandboxtest.Must(0, os.WriteFile(file, []byte(got), 0o600))
	}
	if diff := cmp.Diff(sandboxtest.File(t, file), got); diff != "" {
		t.Errorf("%s differs; -update rewrites it: %s", file, diff)
	}
}

// After a run and many purchases, whole pages are equal to those in testdata. Values that differ in each run of the
// test, such as ids, are left out.
func TestWholePages(t *testing.T) {
	t.Parallel()
	s, cards := night(t)
	execute(t, s)(`UPDATE request_log SET duration_us = '[2000, 10500, 999000, 1000000, 59900000, 60400000]' ->> (id % 6);
		UPDATE runs SET ended = begun + 1000 * id; UPDATE delivery_tries SET duration_ms = 7`)
	b := newBrowser(t, s).logIn(s.Key)
	varying := regexp.MustCompile(`(?m)^\s+|127\.0\.0\.1:\d+|(card|txn|wh|evt|dlv)_[1-9a-z]\w{23}|••\d{4}|sandbox-\w+-\w{32}|[0-9a-f]{64}|` +
		`name="page" value="\w+"|data-version="[^"]*"|/assets/\w+`)
	for name, path := range map[string]string{
		"overview": "/", "cards": "/cards", "card": "/cards/" + cards["search-ads"] + "?days=7",
		"frozen": "/cards/" + cards["display-ads"] + "?days=7", "transactions": "/transactions",
		"requests": "/requests", "refused": "/requests?outcome=refused", "lost": "/requests?outcome=lost",
		"faults": "/requests?outcome=fault&method=POST", "reads": "/requests?run=00c0ffee", "plan": "/runs/00c0ffee", "apply": "/runs/decade00",
		"challenges": "/3ds", "deposits": "/deposits", "webhooks": "/webhooks", "ledger": "/ledger",
		"entry": "/ledger?entry=60", "world": "/world",
		"purchase": "/transactions/" + b.get("/transactions?state=refunded").find(`<tr id="(txn_\w+)"`),
		"delivery": "/webhooks/" + s.Get("/_sandbox/deliveries").Data()[0]["id"].(string),
	} {
		golden(t, "testdata/pages/"+name+".html", varying.ReplaceAllString(b.get(path).is(200).text, ""))
	}
}

// Under every filter, the totals of the transactions are the sums of the rows below them.
func TestTotalsAreSumsOfRows(t *testing.T) {
	t.Parallel()
	s, _ := night(t)
	b := newBrowser(t, s).logIn(s.Key)
	row := regexp.MustCompile(`(?s)<tr id="(txn_\w+)">.*?class="number fig"><span class="(\w+)">(-?[\d,.]+)</span>.*?</tr>`)
	rows := 0
	for _, text := range []string{"", "search", "Example Social", "insufficient", "nothing"} {
		for _, state := range []string{"", "authorized", "settled", "refunded", "declined"} {
			for _, days := range []string{"", "from=2026-11-07&to=2026-11-13", "from=2026-11-19"} {
				path := "/transactions?q=" + url.QueryEscape(text) + "&state=" + state + "&" + days
				page := b.get(path).is(200)
				var moved usd.Amount
				purchases, declines := 0, 0
				for _, r := range row.FindAllStringSubmatch(page.text, -1) {
					purchases++
					if r[2] == "decline" {
						declines++
					} else {
						moved += cents(r[3])
					}
				}
				rows += purchases
				if purchases == 0 {
					page.has("No transactions match").lacks("<dt>Settled</dt>")
					continue
				}
				sandboxtest.Equal(t, path+": purchases", page.find(`<dt>Purchases</dt><dd>(\d+)`), strconv.Itoa(purchases))
				sandboxtest.Equal(t, path+": declines", page.find(`<small>(\d+) declined`), strconv.Itoa(declines))
				sandboxtest.Equal(t, path+": moved", (page.figure("Held") + page.figure("Net")).String(), (-moved).String())
			}
		}
	}
	const minRows = 100
	if rows < minRows {
		t.Errorf("%d rows were added up, want at least %d", rows, minRows)
	}
}

// The total of a purchase includes all its transactions, even if their entries are more than a page of the ledger.
func TestTotalOfLongPurchase(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("150")
	settlement := s.Settle(s.Authorize(card, "100", "7311").Transaction(), "100").Transaction()
	for range 60 {
		s.Refund(settlement, "1")
	}
	b.get("/transactions/" + settlement).is(200).matches(`<tfoot>.*-40\.00`)
}
