package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// TransferKind is the direction of a transfer, and the name of its endpoint.
type TransferKind string

// The two directions.
const (
	TransferFund     TransferKind = "fund"     // from the wallet to the card
	TransferWithdraw TransferKind = "withdraw" // from the card to the wallet
)

// Movement is money to be moved between the wallet and a card.
type Movement struct {
	CardID string
	Delta  usd.Amount // USD, not 0: funded when above zero, withdrawn when below
	// Key is the idempotency key, the same in every run that tries this movement;
	// empty is a random one.
	Key string
	// Anchor is what the card is known to have held; nil when nothing is known, and
	// then nothing tells whether the movement has been made before.
	Anchor *Anchor
	// UpTo is what the card is to hold at most afterwards (USD), for a top-up that
	// may be repeated as long as it does not pass that; nil for any other movement.
	UpTo *usd.Amount
	// AtLeast is what a withdrawal has to leave on the card (USD); nil for nothing.
	AtLeast *usd.Amount
}

func (m Movement) kind() TransferKind {
	if m.Delta < 0 {
		return TransferWithdraw
	}
	return TransferFund
}

func (m Movement) String() string {
	if m.Delta < 0 {
		return fmt.Sprintf("withdraw %s USD from card %s", -m.Delta, m.CardID)
	}
	return fmt.Sprintf("fund card %s with %s USD", m.CardID, m.Delta)
}

// Transfer is what a card and the wallet hold after money was moved between
// them, in USD.
type Transfer struct {
	CardID        string
	CardBalance   usd.Amount
	WalletBalance *usd.Decimal // nil when it could not be told
	// Recovered says that the response was lost and the balance was read
	// afterwards.
	Recovered bool
	// MadeBefore says that the card shows the movement to have been made before
	// this call, which then moved nothing: by a run that was cut off, as a rule.
	MadeBefore bool
	// Anchor is to be kept with the card.
	Anchor *Anchor
	// Unexplained is what had come to the card (above zero) or gone from it before
	// this call without a transaction that explains it.
	Unexplained usd.Amount
	// Excess is what the service moved beyond what was asked, in either direction,
	// as far as transactions do not explain it; ExcessUnclear says why that is not
	// certain.
	Excess        usd.Amount
	ExcessUnclear string
	// Delay is set when the call took long, or lost a response.
	Delay *Delay
}

// UnexplainedMoneyError says that money in the direction of a movement, and at
// least as much, came to a card or went from it, that no transaction explains:
// the movement may have been made already, and nothing was sent. Amounts are in
// USD.
type UnexplainedMoneyError struct {
	Movement Movement
	Found    usd.Amount // unexplained; below zero when it went from the card
	Balance  usd.Amount // now
	Anchor   *Anchor    // to be kept, so that the next call moves the money
}

// Error names the amounts.
func (e *UnexplainedMoneyError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because the card holds %s USD, which is %s USD other than its transactions explain",
		e.Movement, e.Balance, abs(e.Found))
}

// LeavesTooLittleError says that a withdrawal was not sent, because it would
// leave less on the card than it has to. Amounts are in USD.
type LeavesTooLittleError struct {
	Movement Movement
	Balance  usd.Amount // now
}

// Error names the amounts.
func (e *LeavesTooLittleError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because the card holds %s USD and has to keep %s USD", e.Movement, e.Balance, *e.Movement.AtLeast)
}

// FundCard moves amount (USD, above 0) from the wallet to the card; see Move.
func (c *Client) FundCard(ctx context.Context, id string, amount usd.Amount) (Transfer, error) {
	return c.Move(ctx, Movement{CardID: id, Delta: max(0, amount)})
}

// WithdrawCard moves amount (USD, above 0) from the card to the wallet; see Move.
func (c *Client) WithdrawCard(ctx context.Context, id string, amount usd.Amount) (Transfer, error) {
	return c.Move(ctx, Movement{CardID: id, Delta: -max(0, amount)})
}

// Move moves money between the wallet and a card, once. Where the movement has
// an anchor it first reads whether the movement was made before. The error is an
// *UndecidedError when it cannot be told whether the money has moved, an
// *UnexplainedMoneyError when something else may have moved it, and a
// *LeavesTooLittleError when the card holds too little.
func (c *Client) Move(ctx context.Context, m Movement) (Transfer, error) {
	path, err := cardPath(m.CardID, "/"+string(m.kind()))
	if err != nil {
		return Transfer{}, err
	}
	if m.Delta == 0 {
		return Transfer{}, fmt.Errorf("%s: the amount has to be above zero", m)
	}
	derived := m.Key != ""
	if !derived {
		m.Key = uuid.NewString()
	}
	release, err := c.cardLocks.acquire(ctx, m.CardID, exclusive)
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: waiting for another call on this card: %w", m, err)
	}
	defer release()
	c.statuses.forget(m.CardID) // the service may freeze it
	before, found, err := c.inspect(ctx, m)
	if err != nil {
		return Transfer{}, err
	}
	if found.madeBefore {
		return Transfer{CardID: m.CardID, CardBalance: before.balance, MadeBefore: true, Anchor: before.anchor(0)}, nil
	}
	if m.AtLeast != nil && before.balance+m.Delta < *m.AtLeast {
		return Transfer{}, &LeavesTooLittleError{Movement: m, Balance: before.balance}
	}
	transfer, err := c.sendMovement(ctx, m, path, before)
	if err == nil && !transfer.Recovered {
		c.compare(ctx, m, before, derived, found.doubtful, &transfer)
	}
	transfer.Unexplained = found.unexplained
	return transfer, err
}

// finding is what inspecting a card before a movement brought to light.
type finding struct {
	madeBefore  bool
	doubtful    bool // it may have been made before; its key will tell
	unexplained usd.Amount
}

// confirmWait is how long a card that shows a movement to be made already is
// given for a transaction that explains it otherwise.
const confirmWait = 5 * time.Second

// inspect reads the card before the first attempt.
func (c *Client) inspect(ctx context.Context, m Movement) (reading, finding, error) {
	fail := func(err error) (reading, finding, error) {
		return reading{}, finding{}, fmt.Errorf("%s: nothing was moved, because the card could not be read first: %w", m, err)
	}
	if m.Anchor == nil {
		r, err := c.readSteady(ctx, m.CardID)
		if err != nil {
			return fail(err)
		}
		return r, finding{}, nil
	}
	r, err := c.readUntilExplained(ctx, m)
	if err != nil {
		return fail(err)
	}
	if m.looksMade(r) {
		// A transaction that comes late may explain it otherwise.
		if err := c.clock.Wait(ctx, confirmWait); err != nil {
			return fail(err)
		}
		if r, err = c.readUntilExplained(ctx, m); err != nil {
			return fail(err)
		}
		switch made := m.looksMade(r); {
		case made && r.fits(m.Anchor, 0) == unexplained:
			return r, finding{madeBefore: true}, nil
		case !made && r.fits(m.Anchor, 0).explained():
		case c.keysHonoured:
			return r, finding{doubtful: true}, nil
		default:
			return r, finding{}, &UnexplainedMoneyError{Movement: m, Found: m.Delta, Balance: r.balance, Anchor: r.anchor(0)}
		}
	}
	if r.fits(m.Anchor, 0) != unexplained {
		return r, finding{}, nil
	}
	rest := r.unexplainedBeside(m.Anchor, m.Delta)
	if (rest > 0) == (m.Delta > 0) && abs(rest) >= abs(m.Delta) && m.passes(r.balance) && !c.keysHonoured {
		return r, finding{}, &UnexplainedMoneyError{Movement: m, Found: rest, Balance: r.balance, Anchor: r.anchor(0)}
	}
	return r, finding{unexplained: rest}, nil
}

// looksMade reports whether a reading shows just this movement beside what the
// card's transactions explain, and nothing likelier explains the balance without
// it: a withdrawal of as much as was spent is not made by the spending. A fund
// must not be made twice on any kind of service.
func (m Movement) looksMade(r reading) bool {
	made, not := r.fits(m.Anchor, m.Delta), r.fits(m.Anchor, 0)
	likely := made >= not || made == asSettled && m.Delta > 0
	return made != unexplained && likely && m.passes(r.balance)
}

// passes reports whether sending would load the card beyond what it is to hold.
func (m Movement) passes(balance usd.Amount) bool {
	return m.UpTo == nil || balance+m.Delta > *m.UpTo
}

// readUntilExplained reads again when the two halves of a reading may be from
// different moments.
func (c *Client) readUntilExplained(ctx context.Context, m Movement) (r reading, err error) {
	for range readingAttempts {
		if r, err = c.readCardMoney(ctx, m.CardID, m.Anchor); err != nil || r.fits(m.Anchor, 0).explained() {
			return r, err
		}
	}
	return r, nil
}

// readSteady reads the balance, the newest transactions and the balance again,
// until both balances agree.
func (c *Client) readSteady(ctx context.Context, id string) (reading, error) {
	card, err := c.GetCard(ctx, id)
	var r reading
	for range readingAttempts {
		if err != nil {
			return r, err
		}
		earlier := card.Balance
		if r, err = c.readCardMoney(ctx, id, nil); err == nil && r.balance == earlier {
			return r, nil
		}
		card.Balance = r.balance
	}
	r.unsteady = true
	return r, err
}

// sendMovement makes a movement on a card that was read just before.
func (c *Client) sendMovement(ctx context.Context, m Movement, path string, before reading) (Transfer, error) {
	body, err := json.Marshal(map[string]usd.Amount{"amount": abs(m.Delta)})
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: %w", m, err)
	}
	var moved Transfer
	move := &call{
		card: m.CardID, operation: m.String(), method: http.MethodPost, path: path, body: body,
		accept: func(body []byte) (err error) {
			moved, err = decodeTransfer(body, m.CardID)
			return err
		},
	}
	after := before
	verify := func(ctx context.Context) outcome {
		var o outcome
		after, o = c.verifyMovement(ctx, m, before.justNow(), before.unsteady)
		return o
	}
	how, err := c.mutate(ctx, &mutation{kind: MutationMove, call: move, key: m.Key, verify: verify})
	ctx, end := withGrace(ctx, 2*c.requestTime+c.commitWait)
	defer end()
	switch open, undecided := errors.AsType[*UndecidedError](err); {
	case undecided:
		open.Transfer = &PendingTransfer{
			Key: m.Key, CardID: m.CardID, Kind: m.kind(), Amount: abs(m.Delta),
			BalanceBefore: before.balance, BalanceAfter: after.balance, Before: before.anchor(0), SentAt: open.SentAt,
		}
		return Transfer{}, err
	case err != nil:
		return Transfer{}, err
	case how.verified:
		moved = Transfer{CardID: m.CardID, CardBalance: after.balance, Recovered: true, Anchor: before.anchor(m.Delta), Delay: how.delay}
		if wallet, err := c.WalletBalance(ctx); err == nil { // else the money has moved all the same
			moved.WalletBalance = &wallet.Balance
		}
		return moved, nil
	}
	moved.Anchor, moved.Delay = before.anchor(m.Delta), how.delay
	return moved, nil
}

// decodeTransfer reads what the card holds. That the wallet's balance cannot be
// read says nothing about the movement.
func decodeTransfer(body []byte, card string) (Transfer, error) {
	var fields struct {
		CardID        string          `json:"card_id"`
		CardBalance   usd.Amount      `json:"card_balance"`
		WalletBalance json.RawMessage `json:"wallet_balance"`
	}
	if err := decodeObject(body, &fields, "card_id", "card_balance"); err != nil {
		return Transfer{}, err
	}
	moved := Transfer{CardID: fields.CardID, CardBalance: fields.CardBalance}
	var wallet usd.Decimal
	if json.Unmarshal(fields.WalletBalance, &wallet) == nil {
		moved.WalletBalance = &wallet
	}
	return moved, sameCard(card, moved.CardID)
}

// compare holds a response against the balance before: a service may answer for
// an earlier movement under the same key, ignore the amount, or have got the
// request twice.
func (c *Client) compare(ctx context.Context, m Movement, before reading, derived, doubtful bool, moved *Transfer) {
	if moved.CardBalance == before.balance+m.Delta && !doubtful {
		return
	}
	ctx, end := withGrace(ctx, c.requestTime)
	defer end()
	since := before.justNow()
	var r reading
	for range readingAttempts {
		var err error
		if r, err = c.readCardMoney(ctx, m.CardID, since); err != nil {
			moved.Excess, moved.ExcessUnclear = moved.CardBalance-before.balance-m.Delta, err.Error()
			return
		}
		if r.fits(since, m.Delta).explained() {
			moved.CardBalance = r.balance
			return
		}
	}
	moved.CardBalance = r.balance
	if derived && r.fits(since, 0).explained() && r.whyUnclear(since) == "" {
		moved.MadeBefore, moved.Anchor = true, r.anchor(0)
		return
	}
	moved.Excess, moved.ExcessUnclear = r.unexplained(since.plus(m.Delta)), r.whyUnclear(since)
}

// verifyMovement compares the card's balance with what its transactions since an
// anchor lead to, with and without the movement.
func (c *Client) verifyMovement(ctx context.Context, m Movement, since *Anchor, unsteady bool) (r reading, o outcome) {
	for range readingAttempts {
		var err error
		if r, err = c.readCardMoney(ctx, m.CardID, since); err != nil {
			return reading{balance: since.Balance}, outcome{undecided, err}
		}
		made, not := r.fits(since, m.Delta).explained(), r.fits(since, 0).explained()
		unclear := r.whyUnclear(since)
		if unsteady {
			unclear = "its balance moved while it was read"
		}
		switch {
		case unclear != "":
			return r, outcome{undecided, m.undecided(since.Balance, r, unclear)}
		case made && !not:
			return r, outcome{state: applied}
		case not && !made:
			return r, outcome{state: notApplied}
		}
	}
	return r, outcome{undecided, m.undecided(since.Balance, r, "")}
}

func (m Movement) undecided(before usd.Amount, r reading, unclear string) error {
	text := fmt.Sprintf("card %s held %s USD before and holds %s USD now, and its transactions do not tell whether that is with the %s of %s USD or without",
		m.CardID, before, r.balance, m.kind(), abs(m.Delta))
	if unclear != "" {
		text += "; " + unclear
	}
	return errors.New(text)
}

// plus is the anchor with a movement (USD) in it.
func (a *Anchor) plus(delta usd.Amount) *Anchor {
	moved := *a
	moved.Balance += delta
	return &moved
}
