package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// requestList has the runs or, with a filter, requests one after the other.
type requestList struct {
	Runs  []*requestlog.Run
	Calls []*requestlog.Entry
}

// took writes how long something has taken.
func took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d.%d ms", d.Milliseconds(), d.Microseconds()/100%10)
}

func readRequests(v *view) (any, error) {
	data := new(requestList)
	l := v.list(search("run", "Run"),
		pick("outcome", "succeeded", "refused", "failed", "lost", "fault"), pick("method", http.MethodGet, http.MethodPost, http.MethodDelete))
	filter := requestlog.Filter{Run: l.text("run"), Method: l.text("method"), Outcome: l.text("outcome")}
	var (
		more bool
		err  error
	)
	if filter == (requestlog.Filter{}) {
		data.Runs, more, err = requestlog.Runs(v.Tx, v.Account.ID, l.page)
	} else {
		data.Calls, more, err = requestlog.Newest(v.Tx, v.Account.ID, filter, l.page)
	}
	l.shows(len(data.Runs)+len(data.Calls), more)
	return data, err
}

// runData is a run: what it came to, card by card, and its story.
type runData struct {
	*requestlog.Run

	Cards     []*cardChange
	CardsList *list
	Story     []storyLine
}

// cardChange is what a run did with a card, or with one that it failed to issue.
type cardChange struct {
	*requestlog.Entry // the first one that changed it, else that asked for it

	Done    []string // in words
	Before  requestlog.Standing
	After   requestlog.Standing
	Wallet  usd.Amount // what came into the wallet; below zero, it left the wallet
	Fees    usd.Amount // of that
	Refused []string   // the service's messages
	Lost    bool
}

// storyLine is a request in the order of time.
type storyLine struct {
	*requestlog.Entry

	Since   time.Duration // the run began
	Waited  time.Duration // without a request before it; 0: hardly
	AtLimit bool          // the wait is one for a limit
	Try     int           // of one call
}

// Title tells runs apart.
func (r *runData) Title() string { return r.Kind() + " " + r.Key() }

// verb is what a call asks for, by the end of its path.
func verb(e *requestlog.Entry) string {
	return cmp.Or(map[string]string{
		"cards": "issued", "fund": "funded", "withdraw": "withdrawn", "freeze": "frozen", "unfreeze": "unfrozen", "webhooks": "registered",
	}[path.Base(e.Path)], "terminated")
}

func readRun(v *view) (any, error) {
	found, err := requestlog.ByKey(v.Tx, v.Account.ID, v.request.PathValue("run"))
	if err != nil {
		return nil, err
	}
	data := &runData{Run: found, CardsList: v.listOf("cards")}
	changes, err := requestlog.ChangesOf(v.Tx, found.ID)
	all, part := byCard(changes), data.CardsList.page
	begin := min(part.Offset(), int64(len(all)))
	data.Cards = all[begin:min(begin+part.Size, int64(len(all)))]
	data.CardsList.showsOf(len(data.Cards), int64(len(all)))
	l := v.list()
	l.Backward, l.Forward, l.page.Size = "Earlier", "Later", 200
	entries, more, failed := requestlog.OfRun(v.Tx, found.ID, l.page)
	l.shows(len(entries), more)
	data.Story = story(found, entries)
	return data, errors.Join(err, failed)
}

// byCard sums requests up by the cards that they are about, in the order of the first ones.
func byCard(entries []*requestlog.Entry) (all []*cardChange) {
	cards := map[string]*cardChange{}
	for _, e := range entries {
		done, c := verb(e), cards[e.CardID]
		switch {
		case e.CardID == "" && done != "issued":
			continue // it concerns no card
		case c == nil || e.CardID == "":
			c = &cardChange{Entry: e}
			cards[e.CardID], all = c, append(all, c)
		}
		if changed := e.EntryID != 0 || e.StatusChangeID != 0; changed {
			if len(c.Done) == 0 {
				c.Before = e.Before
			}
			c.Done, c.After = append(c.Done, done), e.After
		} else if e.Message != "" {
			c.Refused = append(c.Refused, e.Message)
		}
		c.Wallet += e.Wallet
		c.Fees += e.Fee
		c.Lost = c.Lost || e.Lost
	}
	for _, c := range all {
		c.Done, c.Refused = slices.Compact(c.Done), slices.Compact(c.Refused)
	}
	return all
}

// story tells what lies between requests.
func story(r *requestlog.Run, entries []*requestlog.Entry) (lines []storyLine) {
	const noticed = time.Second
	tries, busy, limited := map[string]int{}, r.Begun.Time, false
	for _, e := range entries {
		call := e.Method + e.Path + e.IdempotencyKey
		if e.Changes() { // reading again is no repetition
			tries[call]++
		}
		line := storyLine{Entry: e, Since: e.Time.Sub(r.Begun.Time), Try: tries[call]}
		if wait := e.Time.Sub(busy); wait >= noticed {
			line.Waited, line.AtLimit = wait, limited
		}
		busy, limited = e.Time.Add(e.Duration), e.Status == http.StatusTooManyRequests
		lines = append(lines, line)
	}
	return lines
}
