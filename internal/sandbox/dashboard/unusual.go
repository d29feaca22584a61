package dashboard

import (
	"fmt"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
)

// unusual says what is not as usual in the world, by how far its clock is ahead.
func unusual(tx *store.Tx, ahead time.Duration) (found []string) {
	found = append(found, counted(int64(len(behavior.Faults(tx))), "fault", "faults")...)
	found = append(found, counted(changed(quirkSettings(behavior.ReadQuirks(tx))), "quirk", "quirks")...)
	found = append(found, counted(changed(limitSettings(behavior.ReadLimits(tx))), "limit", "limits")...)
	const day = 24 * time.Hour
	switch ahead = ahead.Round(time.Minute); {
	case ahead >= 2*day:
		found = append(found, fmt.Sprintf("clock +%d days", ahead/day))
	case ahead > 0:
		found = append(found, "clock +"+ahead.String()[:len(ahead.String())-2]) // without the seconds
	}
	return found
}

// changed is how many settings are not as usual.
func changed(settings []*setting) (n int64) {
	for _, s := range settings {
		if s.Value != s.Usual {
			n++
		}
	}
	return n
}

// waiting is what waits for somebody, by the paths of the pages that show it.
func waiting(tx *store.Tx, accountID int64) map[string]int64 {
	return map[string]int64{"/3ds": threeds.CountPending(tx, accountID), "/webhooks": webhook.CountFailing(tx, accountID)}
}
