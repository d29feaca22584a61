package card_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// step is a configuration that is planned and applied. In words, ID is the card's.
type step struct {
	spent    usd.Amount // in a purchase, before
	config   object
	plans    object   // values of the plan
	changes  []string // all that the plan changes, unless nil
	says     []string // warnings, none when nil
	refused  []string // by the plan in these words; nothing is applied
	replaces []string // in the plan; nothing is applied
	turnsOut []object // what is unknown, with which core plans again; nothing is applied
	status   string   // afterwards; active when ""
	balance  usd.Amount
}

// named puts the card's id in the place of ID.
func (f *fixture) named(words []string) []string {
	named := slices.Clone(words)
	for i := range named {
		named[i] = strings.ReplaceAll(named[i], "ID", f.id())
	}
	return named
}

// goes plans and applies a step, and checks that only the wallet and the card have paid for it.
func (f *fixture) goes(s step) {
	f.t.Helper()
	if s.spent > 0 {
		f.s.Authorize(f.id(), s.spent.String(), advertising).Must()
		f.refresh()
	}
	total := f.s.Wallet() - usd.Dollar // the fee
	if f.id() != "" {
		total = f.s.Wallet() + f.service().Balance
	}
	if s.refused != nil {
		f.failsToPlan(s.config, f.named(s.refused)...)
		return
	}
	change, diags := f.plan(s.config)
	diags.Must(f.t)
	f.same("the plan", s.plans, change.Planned)
	changes := slices.DeleteFunc(sortedKeys(change.Planned), func(name string) bool {
		return plain(change.Planned[name]) == plain(f.card.Values[name])
	})
	if s.changes != nil && !slices.Equal(changes, s.changes) {
		f.t.Errorf("%s: the plan changes %q, want %q", plain(s.config), changes, s.changes)
	}
	if !slices.Equal(change.Replaces, s.replaces) {
		f.t.Errorf("%s: the plan replaces for %q, want %q", plain(s.config), change.Replaces, s.replaces)
	}
	if s.turnsOut != nil || s.replaces != nil && s.says != nil {
		f.says(plain(s.config)+": the warning", diags.Warnings(), f.named(s.says)...)
	}
	for _, config := range s.turnsOut {
		second, diags := f.plan(config)
		diags.Must(f.t)
		f.same("the plan made during apply", known(change.Planned), second.Planned)
	}
	if s.turnsOut != nil || len(change.Replaces) > 0 {
		return
	}
	f.says(plain(s.config)+": the warning", f.apply(s.config).Warnings(), f.named(s.says)...)
	if s.status == "" {
		s.status = "active"
	}
	f.holds(s.status, s.balance, total-s.balance)
}

// life is of a card that is issued with the first step, or was imported.
type life struct {
	imported map[string]any
	steps    []step
}

// live goes through lives, and ends each.
func live(t *testing.T, lives map[string]life) {
	t.Helper()
	for name, c := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if c.imported != nil {
				f = imported(t, c.imported)
			}
			for _, s := range c.steps {
				f.goes(s)
			}
			total := f.s.Wallet() + f.service().Balance
			f.apply(nil)
			if now := f.s.Wallet(); now != total || len(liveCards(f.s)) > 0 {
				t.Errorf("the wallet holds %s in the end, want %s", now, total)
			}
		})
	}
}

func load(amount any) object { return object{"amount": amount} }

// Lives of cards, step by step, and to their end.
func TestLivesOfACard(t *testing.T) {
	t.Parallel()
	kept := object{"top_up": object{"below": 40, "to": 80}}
	at30, at45 := object{"auto_freeze_at": 30}, object{"auto_freeze_at": 45}
	active, frozen := object{"frozen": false}, object{"frozen": true}
	noMetadata, team := object{"metadata": object{}}, object{"metadata": object{"team": "ads"}}
	undecided := object{"frozen": acctest.Unknown, "status": acctest.Unknown}
	byHand := object{"label": "by hand", "auto_freeze_at": 7, "metadata": object{"a": "b"}, "allowed_categories": []any{"travel"}}
	live(t, map[string]life{
		"everything": {nil, []step{
			{config: everything(), plans: object{"balance": acctest.Unknown, "topped_up": 0, "issuance_fee": 1}, balance: 12050},
			{
				config: merged(everything(), load("200.75"), frozen), status: "frozen", balance: 20075,
				plans: object{"balance": acctest.Unknown, "status": "frozen", "label": "search"},
			},
			{config: merged(everything(), load(20)), plans: object{"status": "active"}, balance: 20 * d},
			{config: merged(everything(), load(20), object{"frozen": nil}), changes: []string{}, balance: 20 * d},
		}},
		"a computed amount": {nil, []step{
			{config: load("74.0999999999999999999999"), balance: 7410},
			{config: load("74.10"), changes: []string{}, balance: 7410},
			{config: load("7.41000000000000000000001"), balance: 741},
		}},
		"amount": {nil, []step{
			{config: load(90), balance: 90 * d},
			{config: object{}, says: []string{"no longer managed", "ID", "90.00 USD"}, balance: 90 * d},
			{config: load(50), says: []string{"baseline", "no money moves", "amount = 50.00"}, balance: 90 * d},
			{config: load(40), balance: 80 * d},
			{config: load(-1), refused: []string{"amount must not be below zero"}},
			{spent: 70 * d, config: load(20), refused: []string{"Lowering amount from 40.00 to 20.00 USD withdraws 20.00 USD, but card ID"}},
			{config: load("29.99"), refused: []string{"The card holds less than that"}},
			{config: load(30)}, // all that there is
		}},
		"top-up": {nil, []step{
			{config: merged(kept, load(100)), balance: 100 * d},
			{spent: 60 * d, config: merged(kept, load(100)), changes: []string{}, balance: 40 * d},
			{
				spent: usd.Cent, config: merged(kept, load(100)), balance: 80 * d,
				plans: object{"topped_up": "40.01", "balance": acctest.Unknown, "amount": "100"},
			},
			// The plan's own change of amount counts first.
			{spent: 70 * d, config: merged(kept, load(110)), plans: object{"topped_up": "100.01"}, balance: 80 * d},
			{config: merged(kept, load(60)), refused: []string{"amount", "with 30.00 USD", "top_up.below (40.00 USD)", "ID"}},
		}},
		"a pause": {nil, []step{
			{config: merged(kept, load(100)), balance: 100 * d},
			{spent: 90 * d, config: merged(kept, load(100), frozen), changes: []string{"frozen", "status"}, status: "frozen", balance: 10 * d},
			{config: merged(kept, load(95), frozen), status: "frozen", balance: 5 * d}, // needs no top-up
			{config: merged(kept, load(95), active), plans: object{"topped_up": "75"}, balance: 80 * d},
		}},
		"freezing": {nil, []step{
			{config: merged(at30, load(100), frozen), plans: object{"status": "frozen"}, status: "frozen", balance: 100 * d},
			{config: merged(at30, load(100)), status: "frozen", balance: 100 * d},
			{
				config: merged(at30, load(120)), status: "frozen", balance: 120 * d,
				says: []string{"20.00 USD go to a card that stays frozen", "Card ID", "until it is unfrozen (frozen = false)"},
			},
			{config: merged(at30, load(100), active), balance: 100 * d},
			{
				config: merged(at30, load(25)), plans: undecided, status: "frozen", balance: 25 * d,
				says: []string{"The service freezes a card that this plan withdraws from", "Card ID", "25.00 USD", "auto_freeze_at (30.00 USD)"},
			},
			{config: merged(at30, load(25), active), says: []string{"ID", "25.00 USD", "auto_freeze_at (30.00 USD)"}, balance: 25 * d},
			{config: merged(at30, load(20), active), balance: 20 * d}, // unfrozen again
		}},
		"to the threshold": {nil, []step{
			{config: merged(at30, load(100)), balance: 100 * d},
			{config: merged(at30, load(30)), plans: object{"frozen": false, "status": "active"}, balance: 30 * d},
			{config: merged(at30, load(30), frozen), status: "frozen", balance: 30 * d},
			{config: merged(at30, load(30), active), balance: 30 * d},
		}},
		"below the threshold, after spending": {nil, []step{
			{config: merged(at45, load(100)), balance: 100 * d},
			{spent: 50 * d, config: merged(at45, load(90)), plans: undecided, says: []string{"The service freezes a card", "with 40.00 USD"}, status: "frozen", balance: 40 * d},
		}},
		"imported, and may have a threshold": {map[string]any{"amount": 100, "auto_freeze_at": 70}, []step{
			{config: load(100), says: []string{"baseline"}, balance: 100 * d},
			{config: load(60), plans: undecided, status: "frozen", balance: 60 * d},
		}},
		"imported, and taken over": {map[string]any{"amount": 80, "label": "by hand", "auto_freeze_at": 7}, []step{
			{
				config:  object{"label": "other", "bin_id": "bin"},
				refused: []string{"Card ID", `bin_id ("` + bin + `" to "bin"), label ("by hand" to "other")`, "what the card has", "Only to"},
			},
			{config: object{"label": "by hand"}, changes: []string{}, balance: 80 * d},
			{config: object{}, changes: []string{}, balance: 80 * d},
			{
				config: merged(byHand, load(100)), balance: 80 * d,
				says: []string{"ID", "allowed_categories, metadata, auto_freeze_at", "-replace", "no money moves", "amount = 100.00", "80.00 USD"},
			},
			{config: merged(byHand, load("100.01")), balance: 8001},
			{config: merged(byHand, load("100.01"), object{"auto_freeze_at": 8}), replaces: []string{"auto_freeze_at"}},
		}},
		// Only of an imported card may the service know a value that the state lacks.
		"set where an issued card has nothing": {nil, []step{
			{config: load(60), balance: 60 * d},
			{config: merged(load(60), object{"auto_freeze_at": 5}), replaces: []string{"auto_freeze_at"}},
			{config: merged(load(60), object{"auto_freeze_at": acctest.Unknown}), replaces: []string{"auto_freeze_at"}},
			{config: merged(load(60), object{"allowed_categories": []any{"travel"}}), replaces: []string{"allowed_categories"}},
			{config: merged(load(60), object{"allowed_categories": acctest.Unknown}), replaces: []string{"allowed_categories"}},
			{config: merged(load(60), team), replaces: []string{"metadata"}},
			{config: merged(load(60), object{"metadata": object{"team": acctest.Unknown}}), replaces: []string{"metadata"}},
			{config: merged(load(60), object{"metadata": acctest.Unknown}), replaces: []string{"metadata"}},
		}},
		"set to what may turn out the same": {nil, []step{
			{config: everything(), balance: 12050},
			{
				config: merged(everything(), object{
					"allowed_categories": []any{"advertising", acctest.Unknown}, "metadata": object{"team": acctest.Unknown},
				}),
				replaces: []string{"allowed_categories", "metadata"},
				says:     []string{"allowed_categories, metadata are known only after apply and may turn out the same; the card is replaced even then"},
			},
		}},
		"empty metadata is none": {nil, []step{
			{config: merged(load(60), noMetadata), balance: 60 * d},
			{config: load(60), balance: 60 * d},
			{config: merged(load(60), noMetadata), balance: 60 * d},
		}},
		"empty metadata is none, imported": {map[string]any{"amount": 60}, []step{
			{config: noMetadata, balance: 60 * d},
			{config: object{}, balance: 60 * d},
			{config: noMetadata, balance: 60 * d},
		}},
		"shows what changes, and no more": {map[string]any{"amount": 100}, []step{
			{config: load(100), changes: []string{"amount"}, says: []string{"baseline"}, balance: 100 * d},
			{config: load(120), changes: []string{"amount", "balance", "money_record"}, balance: 120 * d},
			// It may have a threshold.
			{config: load(110), changes: []string{"amount", "balance", "frozen", "money_record", "status"}, balance: 110 * d},
			{config: merged(load(110), frozen), changes: []string{"frozen", "status"}, status: "frozen", balance: 110 * d},
			{
				config:  merged(load(110), active, object{"deletion_protection": true}),
				changes: []string{"deletion_protection", "frozen", "status"}, balance: 110 * d,
			},
			{
				config:  merged(load(110), team),
				changes: []string{"deletion_protection", "metadata"}, says: []string{"metadata"}, balance: 110 * d,
			},
			{
				config:  merged(load(110), team, object{"top_up": object{"below": 120, "to": 130}}),
				changes: []string{"balance", "money_record", "top_up", "topped_up"}, balance: 130 * d,
			},
		}},
	})
}

// What the service says of a card, and the provider where nothing is configured.
func TestValuesOfANewCard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.goes(step{config: load(50), plans: object{"label": acctest.Unknown}, balance: 50 * d})
	for name, form := range map[string]string{
		"label": `tf-\d{8}-[0-9a-f-]{36}`, "last4": `\d{4}`, "network": "visa", "expires_at": `\d{4}-\d\d-\d\d`,
		"created_at": `\d{4}-\d\d-\d\dT.*Z`, "spending_limit": "50000", "deletion_protection": "false", "frozen": "false",
	} {
		if value := plain(f.card.Values[name]); !regexp.MustCompile("^" + form + "$").MatchString(value) {
			t.Errorf("%s is %q", name, value)
		}
	}
}

// Terraform refuses to apply what turns out to be otherwise than its first plan knew.
func TestUnknownValues(t *testing.T) {
	t.Parallel()
	unknown := func(name string) object { return object{name: acctest.Unknown} }
	at30, cent := object{"auto_freeze_at": 30}, object{"auto_freeze_at": "0.01"}
	kept := object{"top_up": object{"below": 10, "to": 50}}
	undecided := object{"frozen": acctest.Unknown, "status": acctest.Unknown}
	moves := object{"topped_up": acctest.Unknown, "balance": acctest.Unknown}
	amounts := func(more object, amounts ...any) (known []object) {
		for _, amount := range amounts {
			known = append(known, merged(more, load(amount)))
		}
		return known
	}
	known := object{"metadata": object{"a": "b"}, "allowed_categories": []any{"travel"}}
	const decided = "Whether a card is topped up is decided during apply"
	// With an unknown amount, something else is set to a value, or to one that is known later.
	withAmount := func(name string, planned, known any, says ...string) step {
		return step{
			config: merged(at30, unknown("amount"), object{name: planned}), says: says,
			turnsOut: amounts(merged(at30, object{name: known}), 25, 70, 100, 130, nil),
		}
	}
	live(t, map[string]life{
		"amount": {nil, []step{
			{config: load(60), balance: 60 * d},
			{config: unknown("amount"), plans: object{"balance": acctest.Unknown, "topped_up": "0"}, turnsOut: amounts(nil, 60, 70)},
		}},
		// One cent is the least threshold, under which a withdrawal of all leaves a card.
		"amount, above the least threshold": {nil, []step{
			{config: merged(cent, load(60)), balance: 60 * d},
			{config: merged(cent, unknown("amount")), plans: undecided, turnsOut: amounts(cent, 0)},
		}},
		"amount, beside others": {nil, []step{
			{config: merged(at30, load(100)), balance: 100 * d},
			withAmount("frozen", nil, nil),
			withAmount("frozen", false, false),
			withAmount("frozen", acctest.Unknown, true),
			withAmount("frozen", acctest.Unknown, nil),
			withAmount("top_up", acctest.Unknown, kept["top_up"], decided),
			withAmount("top_up", acctest.Unknown, nil, decided),
			withAmount("deletion_protection", acctest.Unknown, nil),
		}},
		"amount, with a top-up": {nil, []step{
			{config: merged(kept, load(100)), balance: 100 * d},
			{
				spent: 95 * d, config: merged(kept, unknown("amount")), plans: moves, says: []string{decided, "ID"},
				turnsOut: amounts(kept, 100, 102, 130, nil),
			},
			{config: merged(kept, load(130)), balance: 35 * d}, // no top-up
		}},
		"when to top up": {nil, []step{
			{config: load(100), balance: 100 * d},
			{
				spent: 90 * d, config: merged(load(100), object{"top_up": object{"below": acctest.Unknown, "to": 50}}),
				plans: moves, says: []string{decided, "ID", "10.00 USD"}, turnsOut: []object{},
			},
			{config: merged(load(100), object{"top_up": object{"below": 20, "to": 50}}), balance: 50 * d},
		}},
		"a pause": {nil, []step{
			{config: merged(kept, load(100)), balance: 100 * d},
			{
				spent: 95 * d, config: merged(kept, load(100), unknown("frozen")), says: []string{decided},
				turnsOut: []object{merged(kept, load(100), object{"frozen": true}), merged(kept, load(100), object{"frozen": false})},
			},
			{config: merged(kept, load(100), object{"frozen": true}), status: "frozen", balance: 5 * d},
			{config: merged(kept, load(100), object{"frozen": false}), balance: 50 * d},
		}},
		// Whatever it turns out to be is taken over: there is nothing to replace for.
		"what an import does not tell": {map[string]any{"amount": 80}, []step{
			{
				config: merged(unknown("metadata"), unknown("allowed_categories"), unknown("auto_freeze_at")),
				says:   []string{"Taken over without proof: allowed_categories, metadata, auto_freeze_at"}, turnsOut: []object{known},
			},
			{config: known, says: []string{"Taken over without proof: allowed_categories, metadata"}, balance: 80 * d},
		}},
	})
}

// What an amount turns out to be is checked again where the money would move.
func TestUnknownAmountTurnsOutToBeNoAmount(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fixture{"of a new card": newFixture(t), "of a live card": issued(t, load(100))} {
		before := f.s.Wallet()
		change, diags := f.plan(load(acctest.Unknown))
		diags.Must(f.t)
		_, diags = f.protocol().Apply(change, load("50.001"))
		f.says("the error "+name, diags.Errors(), "Amount finer than a cent", "got 50.001")
		if after := f.s.Wallet(); after != before {
			t.Errorf("an amount %s that is none took %s from the wallet", name, before-after)
		}
	}
}
