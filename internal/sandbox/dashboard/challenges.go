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
		{name: threeds.Approved, route: complete, texts: "id", body: outcomeApproved, done: "The challenge is approved."},
		{name: threeds.Failed, route: complete, texts: "id", body: outcomeFailed, done: "The challenge has failed."},
	}
}

// outcomeApproved returns the body of the call with which the cardholder approves a challenge.
func outcomeApproved(form) map[string]any { return map[string]any{"outcome": threeds.Approved} }

// outcomeFailed returns the body of the call with which the cardholder fails a challenge.
func outcomeFailed(form) map[string]any { return map[string]any{"outcome": threeds.Failed} }

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
		pending := r.Reason == threeds.Pending // the reason of a challenge is its status
		if pending {
			expires := r.At.Add(threeds.Lifetime)
			timeLeft := expires.Sub(v.Tx.Now()).Round(time.Second)
			data.Pending = append(data.Pending, pendingChallenge{Record: r, OTP: v.Server.Keys.OTP(r.ID), TimeLeft: timeLeft})
		} else {
			data.Ended = append(data.Ended, r)
		}
	}
	return data, nil
}
