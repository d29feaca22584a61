package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func runPage() *page {
	return &page{Path: "/runs/{run}", Title: "Run", In: "/requests", html: runHTML, read: readRun}
}

// runData is a run: what it came to, card by card, and its story.
type runData struct {
	run

	Cards     []*cardChange
	CardsList *list
	Story     []storyLine
}

// cardChange is what a run did with a card, or with one that it failed to issue.
type cardChange struct {
	requestlog.Entry // the first one that changed it, else that asked for it

	Done    []string // in words
	After   requestlog.Standing
	Onto    usd.Amount // from the wallet; below zero: back
	Fees    usd.Amount
	Refused []string // the service's messages
	Lost    bool
}

// storyLine is a request in the order of time.
type storyLine struct {
	requestlog.Entry

	Since   time.Duration // the run began
	Waited  time.Duration // without a request before it; 0: hardly
	AtLimit bool          // the wait is one for a limit
	Try     int           // of one call
}

// Kind says what the run was, as far as its requests tell.
func (r *run) Kind() string {
	switch {
	case r.Name == "":
		return "Other client"
	case r.Changes > 0:
		return "Apply"
	}
	return "Plan"
}

// Title tells runs apart.
func (r *run) Title() string { return r.Kind() + " " + r.Key() }

// verbs are what a call asks for, by the end of its path.
func verb(e *requestlog.Entry) string {
	last := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	done, known := map[string]string{
		"cards": "issued", "fund": "funded", "withdraw": "withdrawn", "freeze": "frozen", "unfreeze": "unfrozen", "webhooks": "registered",
	}[last]
	if !known && e.Changes() {
		done = "terminated"
	}
	return done
}

func readRun(v *view) (any, error) {
	found, err := requestlog.ByKey(v.Tx, v.Account.ID, v.request.PathValue("run"))
	if err != nil {
		return nil, err
	}
	data := &runData{run: run{Run: found}, CardsList: v.listOf("cards")}
	changes, err := requestlog.ChangesOf(v.Tx, found.ID)
	if err != nil {
		return nil, err
	}
	all, part := byCard(changes), data.CardsList.page
	begin := min(part.Offset(), int64(len(all)))
	data.Cards = all[begin:min(begin+part.Size, int64(len(all)))]
	data.CardsList.showsOf(len(data.Cards), int64(len(all)))
	l := v.list()
	l.Backward, l.Forward, l.page.Size = "Earlier", "Later", 200
	entries, more, err := requestlog.OfRun(v.Tx, found.ID, l.page)
	l.shows(len(entries), more)
	data.Story = story(found, entries)
	return data, err
}

// byCard sums requests up by the cards that they are about, in the order of the first ones.
func byCard(entries []requestlog.Entry) (all []*cardChange) {
	cards := map[string]*cardChange{}
	for _, e := range entries {
		c := cards[e.CardID]
		if c == nil || e.CardID == "" {
			if e.CardID == "" && verb(&e) != "issued" {
				continue // it concerns no card
			}
			c = &cardChange{Entry: e, After: e.After}
			cards[e.CardID], all = c, append(all, c)
		}
		changed := e.EntryID != 0 || e.StatusChangeID != 0
		if changed && len(c.Done) == 0 {
			c.Before = e.Before
		}
		switch done := verb(&e); {
		case changed && !slices.Contains(c.Done, done):
			c.Done = append(c.Done, done)
		case e.Message != "" && !slices.Contains(c.Refused, e.Message):
			c.Refused = append(c.Refused, e.Message)
		}
		if changed {
			c.After = e.After
		}
		c.Onto, c.Fees, c.Lost = c.Onto+e.Moved(), c.Fees+e.Fee, c.Lost || e.Lost
	}
	return all
}

// story tells what lies between requests.
func story(r *requestlog.Run, entries []requestlog.Entry) (lines []storyLine) {
	const noticed = time.Second
	tries, busy, limited := map[string]int{}, r.Begun.Time, false
	for _, e := range entries {
		call := cmp.Or(e.IdempotencyKey, e.Path+"?"+e.Query) + " " + e.Method + " " + e.Path
		tries[call]++
		line := storyLine{Entry: e, Since: e.Time.Sub(r.Begun.Time), Try: tries[call]}
		if e.IdempotencyKey == "" && !e.Changes() {
			line.Try = 1 // reading again is no repetition
		}
		if wait := e.Time.Sub(busy); wait >= noticed && len(lines) > 0 {
			line.Waited, line.AtLimit = wait, limited
		}
		if end := e.Time.Add(e.Duration); end.After(busy) {
			busy = end
		}
		limited = e.Status == http.StatusTooManyRequests
		lines = append(lines, line)
	}
	return lines
}
