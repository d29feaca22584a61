package dashboard

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// requestList has the runs or, with a filter, single requests.
type requestList struct {
	Runs     []*requestlog.Run
	Requests []*requestlog.Entry
}

// formatDuration formats a duration with a precision that suits its length.
func formatDuration(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	if d >= 10*time.Millisecond {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	tenths := d.Microseconds() / 100 // of a millisecond
	return fmt.Sprintf("%d.%d ms", tenths/10, tenths%10)
}

func readRequests(v *view) (any, error) {
	l := v.readList(
		search("run", "Run"),
		pick("outcome", "succeeded", "refused", "failed", "lost", "fault"),
		pick("method", http.MethodGet, http.MethodPost, http.MethodDelete),
	)
	filter := requestlog.Filter{Run: l.text("run"), Method: l.text("method"), Outcome: l.text("outcome")}
	noFilter := requestlog.Filter{}
	if filter == noFilter {
		runs, more, err := requestlog.ListRuns(v.Tx, v.Account.ID, l.page)
		if err != nil {
			return nil, err
		}
		l.setRows(len(runs), more)
		return &requestList{Runs: runs}, nil
	}
	requests, more, err := requestlog.ListNewest(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.setRows(len(requests), more)
	return &requestList{Requests: requests}, nil
}

// runData is the data of the page with one run: a page of its effects on cards, and a page of its requests.
type runData struct {
	*requestlog.Run

	Cards      []*cardChange
	CardPaging *listPage
	Story      []storyLine
}

// cardChange sums up the requests of a run for changes to one card. A request to issue a card has a cardChange of its
// own if the id of the card is unknown.
type cardChange struct {
	First *requestlog.Entry // the first of these requests, which also identifies the card

	Done    []string // what was done, as past participles such as "funded"
	Before  requestlog.CardState
	After   requestlog.CardState
	Wallet  usd.Amount // what the wallet gained; negative if it paid
	Fees    usd.Amount // contained in Wallet
	Refused []string   // the messages of requests that were refused or failed
	Lost    bool       // whether a response was lost
}

// storyLine is a request in the story of a run.
type storyLine struct {
	*requestlog.Entry

	Since   time.Duration // since the start of the run
	Waited  time.Duration // the pause since the previous response; 0 if it was short or is unknown
	AtLimit bool          // whether the pause followed a 429, the status for an exceeded rate limit
	Try     int           // the number of the attempt among the requests on the page; 0 for a read
}

// Title returns the title of the page.
func (r *runData) Title() string { return r.Kind() + " " + r.Key() }

// issued is the participle of a call that issues a card.
const issued = "issued"

// participle returns what a call for a change does, as a past participle.
func participle(e *requestlog.Entry) string {
	switch path.Base(e.Path) {
	case "cards":
		return issued
	case "fund":
		return "funded"
	case "withdraw":
		return "withdrawn"
	case "freeze":
		return "frozen"
	case "unfreeze":
		return "unfrozen"
	case "webhooks":
		return "registered"
	default: // the path of a card
		return "terminated"
	}
}

func readRun(v *view) (any, error) {
	found, err := requestlog.RunByKey(v.Tx, v.Account.ID, v.request.PathValue("run"))
	if err != nil {
		return nil, err
	}
	paging := v.readListOf("cards")
	changes, err := requestlog.ListChangesByRun(v.Tx, found.ID)
	if err != nil {
		return nil, err
	}
	cards := sumByCard(changes)
	total := int64(len(cards))
	start := min(paging.page.Offset(), total)
	end := min(start+paging.page.Size, total)
	shown := cards[start:end]
	paging.setRowsOfTotal(len(shown), total)

	const requestsPerPage = 200
	l := v.readList()
	l.PreviousText = "Earlier"
	l.NextText = "Later"
	l.page.Size = requestsPerPage
	entries, more, err := requestlog.ListByRun(v.Tx, found.ID, l.page)
	if err != nil {
		return nil, err
	}
	l.setRows(len(entries), more)
	return &runData{Run: found, Cards: shown, CardPaging: paging, Story: story(found, entries)}, nil
}

// sumByCard sums up the requests of each card, in the order of their first requests. It leaves out requests that
// concern no card.
func sumByCard(entries []*requestlog.Entry) []*cardChange {
	var cards []*cardChange
	byID := map[string]*cardChange{}
	for _, e := range entries {
		if e.CardID != "" {
			c := byID[e.CardID]
			if c == nil {
				c = &cardChange{First: e}
				byID[e.CardID] = c
				cards = append(cards, c)
			}
			c.add(e)
		} else if participle(e) == issued { // the log has no id for the card
			c := &cardChange{First: e}
			cards = append(cards, c)
			c.add(e)
		}
	}
	for _, c := range cards {
		// Of equal texts in a row, one is enough.
		c.Done = slices.Compact(c.Done)
		c.Refused = slices.Compact(c.Refused)
	}
	return cards
}

// add adds the effect of a request.
func (c *cardChange) add(e *requestlog.Entry) {
	changed := e.EntryID != 0 || e.StatusChangeID != 0
	if changed {
		if len(c.Done) == 0 { // the first change
			c.Before = e.Before
		}
		c.Done = append(c.Done, participle(e))
		c.After = e.After
	} else if e.Message != "" {
		c.Refused = append(c.Refused, e.Message)
	}
	c.Wallet += e.Wallet
	c.Fees += e.Fee
	c.Lost = c.Lost || e.Lost
}

// story returns the given requests of a run with their attempts counted and the long pauses between them. The run may
// have earlier requests that are not given.
func story(r *requestlog.Run, entries []*requestlog.Entry) []storyLine {
	const longPause = time.Second
	var lines []storyLine
	tries := map[string]int{}
	var lastEnd time.Time
	rateLimited := false // whether the previous request exceeded a rate limit
	for i, e := range entries {
		call := e.Method + e.Path + e.IdempotencyKey
		if e.IsChange() { // a repeated read is not another attempt
			tries[call]++
		}
		line := storyLine{Entry: e, Since: e.Time.Sub(r.Begun.Time), Try: tries[call]}
		pause := e.Time.Sub(lastEnd)
		if i > 0 && pause >= longPause { // the end of the request before the first one is unknown
			line.Waited = pause
			line.AtLimit = rateLimited
		}
		lines = append(lines, line)
		lastEnd = e.Time.Add(e.Duration)
		rateLimited = e.Status == http.StatusTooManyRequests
	}
	return lines
}
