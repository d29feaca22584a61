package dashboard

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
)

func challengeActions() []action {
	const complete = "POST " + server.Control + "/3ds-challenges/{id}/complete"
	return []action{
		{
			name: threeds.Approved, route: complete, texts: []string{"id"}, body: outcomeField(threeds.Approved),
			done: "The challenge is approved.",
		},
		{
			name: threeds.Failed, route: complete, texts: []string{"id"}, body: outcomeField(threeds.Failed),
			done: "The challenge has failed.",
		},
	}
}

// outcomeField returns a function that returns the field with the outcome of a challenge.
func outcomeField(outcome string) func(form) map[string]any {
	return func(form) map[string]any { return map[string]any{"outcome": outcome} }
}

// challengeList is the data of the page with the 3D Secure challenges.
type challengeList struct {
	Pending []pendingChallenge
	Ended   []*activity.Record // approved, failed or expired
}

// pendingChallenge is a challenge that waits for the cardholder.
type pendingChallenge struct {
	*activity.Record

	OTP      string
	TimeLeft time.Duration // until the challenge expires
}

func readChallenges(v *view) (any, error) {
	l := v.readList(
		search("q", "Card: label, last four digits or ID"),
		pick("status", threeds.Pending, threeds.Approved, threeds.Failed, threeds.Expired),
	)
	filter := activity.ChallengeFilter{CardText: l.text("q"), Status: l.text("status")}
	records, more, err := activity.ListChallenges(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.setRows(len(records), more)
	data := new(challengeList)
	for _, r := range records {
		if r.Reason == threeds.Pending { // the reason of a challenge is its status
			expires := r.At.Add(threeds.Lifetime)
			timeLeft := expires.Sub(v.Tx.Now()).Round(time.Second)
			data.Pending = append(data.Pending, pendingChallenge{Record: r, OTP: v.Server.Keys.OTP(r.ID), TimeLeft: timeLeft})
		} else {
			data.Ended = append(data.Ended, r)
		}
	}
	return data, nil
}
