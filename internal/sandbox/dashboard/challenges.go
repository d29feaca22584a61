package dashboard

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
)

func challengesPage() *page {
	const complete = "POST " + server.Control + "/3ds-challenges/{id}/complete"
	return &page{
		Path: "/3ds", Title: "3D Secure", html: challengesHTML, read: readChallenges,
		actions: []action{
			{name: threeds.Approved, route: complete, texts: "id", body: outcome(threeds.Approved), done: "The challenge is approved."},
			{name: threeds.Failed, route: complete, texts: "id", body: outcome(threeds.Failed), done: "The challenge has failed."},
		},
	}
}

func outcome(word string) func(form) map[string]any {
	return func(form) map[string]any { return map[string]any{"outcome": word} }
}

type challengeList struct {
	Pending []pendingChallenge
	Settled []*activity.Record
}

// pendingChallenge is one that waits for its cardholder.
type pendingChallenge struct {
	*activity.Record

	OTP  string
	Left time.Duration // until it expires
}

func readChallenges(v *view) (any, error) {
	l := v.list(search("q", "Card: label, last four or id"), pick("status", threeds.Pending, threeds.Approved, threeds.Failed, threeds.Expired))
	records, more, err := activity.OfChallenges(v.Tx, v.Account.ID, activity.ChallengeFilter{CardText: l.text("q"), Status: l.text("status")}, l.page)
	l.shows(len(records), more)
	list := new(challengeList)
	for _, r := range records {
		if r.Reason != threeds.Pending {
			list.Settled = append(list.Settled, r)
			continue
		}
		left := r.At.Add(threeds.Lifetime).Sub(v.Tx.Now()).Round(time.Second)
		list.Pending = append(list.Pending, pendingChallenge{r, v.Server.Keys.OTP(r.ID), left})
	}
	return list, err
}
