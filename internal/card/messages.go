package card

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// replaceInstead is for -replace, of which a provider learns nothing in the first plan of the card.
func replaceInstead(amount usd.Amount) string {
	if amount < api.MinimumLoad {
		return "" // no card is issued with that
	}
	return " Only if this was asked for with -replace: use terraform taint on this resource and apply, in place of -replace."
}

func withdrawsIntoTopUp(card model, after, below usd.Amount) string {
	return fmt.Sprintf("Lowering amount leaves %s with %s USD, which is under top_up.below (%s USD): the same plan would load again what it withdraws. Lower top_up as well, or take it out.",
		card.name(), after, below)
}

// notKnown is for a card that the service answers 404 or 410 to, which ends none. It has no
// detail where that was told of all cards.
func notKnown(card model, err error, s *session.Session) diag.Diagnostic {
	title := "The service does not know " + card.name()
	if s.Told("not known") > 0 && !s.Cards.HasFound() {
		return diag.NewErrorDiagnostic(title, "")
	}
	why := "So the API key may belong to another account, a sandbox may have another file, or something is wrong at the service. " +
		"Check that the key (VCARD_API_KEY) and base_url are those of the account that owns the card."
	if s.Sandbox != nil {
		made := "may be another than the one that had the card"
		if s.Sandbox.Created {
			made = "was missing and has been made new just now, with nothing in it, while the state still speaks of cards in an earlier one"
		}
		why = "The sandbox file " + s.Sandbox.Path + " " + made +
			". Put the earlier file there again (a pipeline has to keep it, as it keeps the state), or point sandbox.path or VCARD_SANDBOX to where it is now."
	}
	return diag.NewErrorDiagnostic(title, session.Cause(err)+
		" That alone does not prove that it is gone: the service keeps cards that are terminated, and shows them. "+why+
		"\n\nThe card stays in the state. If it is gone for certain, take it out with terraform state rm. "+
		"Where the service knows no card of this state, the others are not named.")
}

func notIssued(request api.IssueCardRequest, err error) diag.Diagnostic {
	var more string
	if unknown, ok := errors.AsType[*transport.UndecidedError](err); ok && len(unknown.Candidates) > 0 {
		more = "\n\nCards that may be the one; import it, or terminate it in the dashboard, before the next apply issues another:"
		for _, candidate := range unknown.Candidates {
			more += fmt.Sprintf("\n  %q, %s USD:\n    terraform import <address> %s", candidate.Label, candidate.Balance, candidate.ID)
		}
	}
	return failed(fmt.Sprintf("issue the card %q on BIN %s", request.Label, request.BinID), err, more)
}

func failed(operation string, err error, more string) diag.Diagnostic {
	failure := session.ErrorDiagnostic(operation, err)
	return diag.NewErrorDiagnostic(failure.Summary(), failure.Detail()+more)
}

func issuedButNotFrozen(card model, err error) diag.Diagnostic {
	return failed("freeze the new "+card.name(), err, "\n\nThe card exists, is loaded with "+card.Balance.Amount().String()+" USD and active. Terraform marks it as tainted, and the next apply would terminate it and issue another. "+
		"To keep it, run terraform untaint on this resource, then apply again: that freezes it.")
}

func adopted(card model) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A card was recognized by its label: "+card.name(),
		"The response to its issuing was lost, and a new card with the same label, BIN and load was found. Another pipeline that issues cards "+
			"with this label might own it, or another configuration of this provider: an alias runs in a process of its own. "+
			"If so, remove it here with terraform state rm and apply again. Labels that nobody else uses, or none at all, leave no doubt.")
}

// mayBeIssuedAgain is true whatever the cards are, since some of the state may be unread.
func mayBeIssuedAgain(cards []api.CardListItem) diag.Diagnostic {
	const most = 10
	names, block := nameOf(cards[0]), fmt.Sprintf(":\n\n  import {\n    to = vcard_card.NAME\n    id = %q\n  }", cards[0].ID)
	if n := len(cards); n > 1 {
		var ids []string
		for _, card := range cards[:min(n, most)] {
			ids = append(ids, card.ID)
		}
		if n > most {
			ids = append(ids, fmt.Sprintf("and %d more", n-most))
		}
		names, block = strings.Join(ids, ", "), "."
	}
	return diag.NewWarningDiagnostic("Live cards that this plan may issue once more",
		"They have the label of a new card, or one that was generated: "+names+".\n\n"+
			"A live card is in this state under another address (write moved), the original of a copied block (give the copy another label), being replaced by this very apply (nothing to do), "+
			"or left by a run that was cut off: import it. vcard statement -no-unmanaged tells which are in no state, and writes the import blocks"+block)
}

func notLookedForLiveCards(err error) diag.Diagnostic {
	failure := session.ErrorDiagnostic("list the live cards", err)
	return diag.NewWarningDiagnostic("Could not look for cards that an earlier run left behind",
		"This plan issues cards, and whether the service has cards with their labels already is not known. If an earlier run was cut off, plan again before you apply. "+failure.Detail())
}

func issuedDifferently(card model, has []string, shown map[string]string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("The service issued "+card.ID.ValueString()+" otherwise than asked",
		fmt.Sprintf("The new card has %s, which is what counts when it is used. The state keeps what was asked.", strings.Join(has, " and "))+followAdvice(shown))
}

func loadedOtherwise(card model, asked, holds usd.Amount) diag.Diagnostic {
	return diag.NewWarningDiagnostic(fmt.Sprintf("%s holds %s USD in place of %s USD", capitalized(card.name()), holds, asked),
		fmt.Sprintf("It was just issued with a load of %s USD, and the service shows %s USD on it. Nothing is sent for the difference, and amount stays %s in the state. "+
			"Unless the card has been used already, compare the wallet in the dashboard, and ask the service's support.", asked, holds, asked))
}

// followAdvice is how the configuration takes over what the service shows, where it may.
func followAdvice(shown map[string]string) (advice string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(shown)), func(name string) bool {
		switch value := shown[name]; name {
		case "label":
			return labelLength(value)+oneLine(value) != ""
		case "spending_limit":
			limit, err := usd.Parse(value)
			return err != nil || limit < usd.Cent
		default:
			return value == ""
		}
	})
	if len(names) > 0 {
		advice = fmt.Sprintf(" To have what the service shows in the state, write its %s into the configuration: that replaces nothing.", strings.Join(names, " and "))
	}
	if label, differs := shown["label"]; differs && label == "" {
		advice += " An empty label cannot be configured: delete the line where there is one, which replaces nothing."
	}
	return advice
}

func possibleDuplicates(card model, others []api.CardListItem) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, other := range others {
		diags.AddWarning("A second card may have been issued: "+nameOf(other),
			fmt.Sprintf("While %s was issued, %s with a balance of %s USD appeared on the same BIN with the same label. If it is not yours, terminate it in the dashboard; to keep it, import it: terraform import <address> %s",
				card.name(), nameOf(other), other.Balance, other.ID))
	}
	return diags
}

func protectedFromDelete(name string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Deletion protection keeps "+name,
		"This card was to be terminated without a plan of its own, as the old one of a replacement is, but deletion_protection is true in its state. Nothing was terminated. "+
			"Where it is still the resource's card, compare what it holds with amount, then keep it with terraform untaint, or set deletion_protection = false and apply that alone first. "+
			"Where the new card was issued before it (create_before_destroy), the old one is a deposed object, which neither reaches: "+
			"terminate it in the dashboard; the next plan sees that and removes it from the state.")
}

func wouldLeaveNoCard(card model, next, short usd.Amount) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The wallet cannot pay for the card that replaces "+card.name(),
		fmt.Sprintf("The new card takes %s USD with its fee. The wallet and what this card returns fall short of that by %s USD. "+
			"So this card was not terminated, and keeps what it has. Deposit at least that (the data source vcard_deposit_addresses lists where) "+
			"or lower amount, then apply again. To terminate it without another, run terraform destroy with -target on this resource.", next, short))
}

func replacementUnchecked(card model, err error) diag.Diagnostic {
	return failed("see whether the wallet can pay for the card that replaces "+card.name(), err,
		` This card was not terminated. To replace it without looking, set wallet_check = "off" in the provider configuration.`)
}

// rejection is session.ErrorDiagnostic and, where the state in which the card was last
// seen may be the reason, what to do about that.
func rejection(status api.CardStatus, operation string, err error) diag.Diagnostic {
	rejected := forState(err)
	if rejected == nil {
		return session.ErrorDiagnostic(operation, err)
	}
	isFrozen := status == api.StatusFrozen || rejected.Code == "card_frozen"
	var reason string
	switch {
	case status == api.StatusTerminated:
		reason = "The card " + terminatedForGood
	case isFrozen && strings.HasSuffix(rejected.Path, "/unfreeze"):
		reason = "If the card holds less than its auto_freeze_at, fund it before you unfreeze it: " +
			"take frozen out of the configuration, raise amount and apply (or use the action vcard_card_fund), then try again."
	case isFrozen:
		reason = "The card is frozen, which may be the reason. " +
			"Unfreeze it with frozen = false on its vcard_card or with the action vcard_card_unfreeze, then try again."
	case status != "" && !status.IsKnown():
		reason = fmt.Sprintf("The service shows it as %s, a status that its document does not have, which may be the reason. "+
			"Look at the card in the dashboard. If it is gone for good, take its vcard_card out of the state with "+
			"terraform state rm ADDRESS; the next apply issues a new card if it is still in the configuration.", status)
	case rejected.Status == 400 && strings.HasSuffix(rejected.Path, "/withdraw"):
		reason = "If the service takes no amount with a withdrawal, it has to be made in the dashboard. " +
			"amount of a vcard_card stays in the state as it was: set it back in the configuration, or each apply tries again."
	default:
		return session.ErrorDiagnostic(operation, err)
	}
	return failed(operation, err, "\n\n"+reason)
}

const terminatedForGood = "is terminated, which is final: it holds no money, has no details, and its state cannot change any more."

// forState returns the rejection of a call that may be for the state of the card, or nil.
func forState(err error) *transport.Error {
	rejected, ok := errors.AsType[*transport.Error](err)
	_, unknown := errors.AsType[*transport.UndecidedError](err)
	if unknown || !ok || rejected.LacksFunds() || rejected.Code == "card_terminated" {
		return nil
	}
	switch rejected.Status {
	case 400, 404, 409, 422:
		return rejected
	}
	return nil
}
