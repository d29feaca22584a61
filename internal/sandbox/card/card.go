// Package card issues cards on the BINs of its catalogue and serves the calls about cards and BINs.
package card

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Routes returns the routes of API §4.1 to §4.9 and §4.13.
func Routes() []server.Route {
	const (
		cards = server.API + "/cards"
		card  = cards + "/{card_id}"
	)
	return []server.Route{
		{Method: http.MethodPost, Path: cards, Handle: issue, Class: behavior.Create},
		{Method: http.MethodGet, Path: cards, Handle: list},
		{Method: http.MethodGet, Path: card, Handle: summary},
		{Method: http.MethodGet, Path: card + "/details", Handle: details, Class: behavior.Details},
		{Method: http.MethodPost, Path: card + "/freeze", Handle: server.NoFields(freeze)},
		{Method: http.MethodPost, Path: card + "/unfreeze", Handle: server.NoFields(unfreeze)},
		{Method: http.MethodDelete, Path: card, Handle: server.NoFields(terminate)},
		{Method: http.MethodPost, Path: card + "/fund", Handle: fund},
		{Method: http.MethodPost, Path: card + "/withdraw", Handle: withdraw},
		{Method: http.MethodGet, Path: server.API + "/bins", Handle: listBINs},
	}
}

// MaxMerchantName is the maximum length of the name of a merchant, in characters.
const MaxMerchantName = 128

// Status is the state of a card.
type Status string

// The three states of API §3.
const (
	Active     Status = "active"
	Frozen     Status = "frozen"
	Terminated Status = "terminated"
)

// Card is a card of an account. Its number and security code are not stored, but derived from its id.
type Card struct {
	ID                int64                      `db:"id"`
	PublicID          string                     `db:"public_id"`
	LedgerAccountID   int64                      `db:"ledger_account_id"`
	BINID             string                     `db:"bin_id"`
	Last4             string                     `db:"last4"`
	Status            Status                     `db:"status"`
	Balance           usd.Amount                 `db:"balance"`
	Loaded            usd.Amount                 `db:"loaded"`         // loads minus withdrawals
	SpendingLimit     usd.Amount                 `db:"spending_limit"` // per UTC calendar month
	Label             string                     `db:"label"`
	AllowedCategories []string                   `db:"allowed_categories"` // empty if all are allowed
	AutoFreezeAt      *usd.Amount                `db:"auto_freeze_at"`     // the threshold of AutoFreeze; nil if there is none
	Metadata          map[string]json.RawMessage `db:"metadata"`
	CreatedAt         wire.Time                  `db:"created_at"`
	ExpiresAt         string                     `db:"expires_at"` // the last day of its month, as 2006-01-02

	holds usd.Amount // the holds that the API shows as part of the balance; see readHolds
}

// Network returns the lower-case name of the card's network.
func (c *Card) Network() string {
	b, _ := binByID(c.BINID) // readCard has refused unknown BINs
	return b.Network
}

// selectCards selects the columns of a Card.
const selectCards = `
	SELECT c.id, c.public_id, c.ledger_account_id, c.bin_id, c.last4, c.status, l.balance, c.loaded, c.spending_limit, c.label,
	       c.allowed_categories, c.auto_freeze_at, c.metadata, c.created_at, c.expires_at
	FROM cards c JOIN ledger_accounts l ON l.id = c.ledger_account_id `

// ByPublicID returns a card of an account, or a 404.
func ByPublicID(tx *store.Tx, accountID int64, publicID string) (*Card, error) {
	found, err := store.List[Card](tx, selectCards+`WHERE c.public_id = ? AND c.account_id = ?`, publicID, accountID)
	return wire.OneOrNotFound(found, err, "card", publicID)
}

// find returns the card in the call's path. It also reads the holds.
func find(c *server.Call) (*Card, error) {
	card, err := ByPublicID(c.Tx, c.Account.ID, c.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	err = card.readHolds(c)
	if err != nil {
		return nil, err
	}
	return card, nil
}

// findLive is like find. It returns an error if the card is terminated. A quirk decides which error.
func findLive(c *server.Call) (*Card, error) {
	card, err := find(c)
	if err != nil {
		return nil, err
	}
	if card.Status != Terminated {
		return card, nil
	}
	if c.Quirks.TerminatedStatus == http.StatusNotFound {
		return nil, wire.NotFound("card", card.PublicID)
	}
	return nil, wire.NewError(int(c.Quirks.TerminatedStatus), wire.CodeCardTerminated,
		"card %s is terminated, which is permanent", card.PublicID)
}

// findUsable is like findLive. A quirk makes it return an error for a frozen card, too.
func findUsable(c *server.Call) (*Card, error) {
	card, err := findLive(c)
	if err != nil {
		return nil, err
	}
	if card.Status == Frozen && c.Quirks.FrozenMoney == behavior.Refused {
		return nil, wire.Refuse(wire.CodeCardFrozen, "card %s is frozen; unfreeze it first", card.PublicID)
	}
	return card, nil
}

// Representations of a card in API §2.1.

type listItem struct {
	ID            string     `json:"id"`
	BINID         string     `json:"bin_id"`
	Network       string     `json:"network"`
	Last4         string     `json:"last4"`
	Status        Status     `json:"status"`
	Balance       usd.Amount `json:"balance"`
	SpendingLimit usd.Amount `json:"spending_limit"`
	Label         string     `json:"label"`
}

type summaryView struct {
	listItem
	CreatedAt wire.Time `json:"created_at"`
}

type fullView struct {
	listItem
	AllowedCategories []string                   `json:"allowed_categories"`
	AutoFreezeAt      *usd.Amount                `json:"auto_freeze_at"`
	Metadata          map[string]json.RawMessage `json:"metadata"`
	CreatedAt         wire.Time                  `json:"created_at"`
	ExpiresAt         string                     `json:"expires_at"`
}

func (c *Card) item() listItem {
	return listItem{
		ID:            c.PublicID,
		BINID:         c.BINID,
		Network:       c.Network(),
		Last4:         c.Last4,
		Status:        c.Status,
		Balance:       c.balanceWithHolds(),
		SpendingLimit: c.SpendingLimit,
		Label:         c.Label,
	}
}

func (c *Card) summary() summaryView {
	return summaryView{listItem: c.item(), CreatedAt: c.CreatedAt}
}

// full returns the card with the fields of the create response.
func (c *Card) full() fullView {
	return fullView{
		listItem:          c.item(),
		AllowedCategories: c.AllowedCategories,
		AutoFreezeAt:      c.AutoFreezeAt,
		Metadata:          c.Metadata,
		CreatedAt:         c.CreatedAt,
		ExpiresAt:         c.ExpiresAt,
	}
}

func summary(c *server.Call) (wire.Response, error) {
	card, err := findVisible(c, find)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(card.summary()), nil
}

func details(c *server.Call) (wire.Response, error) {
	card, err := findVisible(c, findUsable)
	if err != nil {
		return wire.Response{}, err
	}
	expires, err := time.Parse(time.DateOnly, card.ExpiresAt)
	if err != nil {
		return wire.Response{}, err
	}
	year := expires.Year()
	if c.Quirks.ExpYearDigits == 2 {
		year %= 100
	}
	return wire.OK(map[string]any{
		"id":        card.PublicID,
		"pan":       c.Keys.PAN(card.PublicID),
		"cvv":       c.Keys.CVV(card.PublicID),
		"exp_month": int(expires.Month()),
		"exp_year":  year,
	}), nil
}

// visibleUntil returns the latest time of issue at which a card is visible. The quirk cards_hidden_seconds hides newer
// cards.
func visibleUntil(c *server.Call) time.Time {
	hidden := time.Duration(c.Quirks.CardsHiddenSeconds) * time.Second
	return c.Tx.Now().Add(-hidden)
}

// findVisible returns the card that findCard returns, or a 404 if reads do not show the card yet.
func findVisible(c *server.Call, findCard func(*server.Call) (*Card, error)) (*Card, error) {
	card, err := findCard(c)
	if err != nil {
		return nil, err
	}
	if c.Quirks.CardsHiddenSeconds > 0 && card.CreatedAt.After(visibleUntil(c)) {
		return nil, wire.NotFound("card", card.PublicID)
	}
	return card, nil
}

func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	filter := Filter{
		Status: Status(query.Choice("status", string(Active), string(Frozen), string(Terminated))),
		BINID:  query.Text("bin_id"),
	}
	page := query.Page()
	page.Size = min(page.Size, c.Quirks.CardsPerPage)
	err := query.Done()
	if err != nil {
		return wire.Response{}, err
	}
	if c.Quirks.CardsHiddenSeconds > 0 {
		filter.IssuedUntil = visibleUntil(c)
	}
	cards, total, err := Search(c.Tx, c.Account.ID, filter, page)
	if err != nil {
		return wire.Response{}, err
	}
	items := make([]listItem, len(cards))
	for i, card := range cards {
		err := card.readHolds(c)
		if err != nil {
			return wire.Response{}, err
		}
		items[i] = card.item()
	}
	view := map[string]any{"data": items, "page": page.Number, "per_page": page.Size}
	if c.Quirks.CardsTotal == behavior.Present {
		view["total"] = total
	}
	return wire.OK(view), nil
}

// Filter selects cards of an account. A field that is not set excludes no card.
type Filter struct {
	Text        string // part of the label, or the last four digits, or the id
	Status      Status
	Live        bool // selects active and frozen cards
	BINID       string
	IssuedUntil time.Time // selects cards that were issued at this time or earlier
	LowAt       time.Time // the current time: selects cards with a low balance; see HasLowBalance
}

// Where returns the condition of the filter on the rows c of the table cards.
func (f Filter) Where(accountID int64) store.Where {
	labelPattern := "%" + store.EscapeLike(f.Text) + "%"
	return store.NewWhere(`c.account_id = ?`, accountID).
		AndIf(f.Status != "", `c.status = ?`, f.Status).
		AndIf(f.Live, `c.status <> ?`, Terminated).
		AndIf(f.BINID != "", `c.bin_id = ?`, f.BINID).
		AndIf(!f.IssuedUntil.IsZero(), `c.created_at <= ?`, f.IssuedUntil.UnixMilli()).
		AndIf(!f.LowAt.IsZero(), lowBalanceCondition, accountID, firstLowDay(f.LowAt), accountID, Active).
		AndIf(f.Text != "", `(c.label LIKE ? ESCAPE '\' OR c.last4 = ? OR c.public_id = ?)`, labelPattern, f.Text, f.Text)
}

// lowDays is the number of days of spending that a balance should cover.
const lowDays = 7

// lowBalanceCondition is HasLowBalance as a condition on rows c of cards. The inner query adds up the recent spending of
// each card. Without recent spending, recent.spent is NULL. Then only a balance of 0 is low.
const lowBalanceCondition = `c.id IN (
	SELECT active.id
	FROM cards active
	JOIN ledger_accounts l ON l.id = active.ledger_account_id
	LEFT JOIN (
		SELECT card_id, SUM(settled + held - refunded) AS spent
		FROM daily_sums
		WHERE account_id = ? AND day >= ?
		GROUP BY card_id
	) recent ON recent.card_id = active.id
	WHERE active.account_id = ? AND active.status = ?
		AND (l.balance = 0 OR l.balance < recent.spent))`

// firstLowDay returns the first of the lowDays days that end with today, as a number of days like store.Day.
func firstLowDay(now time.Time) int64 { return store.Day(now) - lowDays + 1 }

// HasLowBalance reports whether the balance of an active card is low: it is 0, or less than the card's spending of the
// last lowDays days. The spending includes holds, and refunds lower it. For a card that is not active, HasLowBalance
// reports false.
func (c *Card) HasLowBalance(tx *store.Tx) (bool, error) {
	if c.Status != Active {
		return false, nil
	}
	if c.Balance == 0 {
		return true, nil
	}
	// The join supplies the account, because the primary key of daily_sums starts with it. SUM is NULL if there are no rows.
	spent, err := store.Value[usd.Amount](tx, `
		SELECT COALESCE(SUM(s.settled + s.held - s.refunded), 0) FROM cards c
		JOIN daily_sums s ON s.account_id = c.account_id AND s.card_id = c.id AND s.day >= ?
		WHERE c.id = ?`, firstLowDay(tx.Now()), c.ID)
	if err != nil {
		return false, err
	}
	return c.Balance < spent, nil
}

// Search returns a page of the cards that match a filter, newest first, and the total number of matching cards.
func Search(tx *store.Tx, accountID int64, f Filter, page wire.Page) ([]*Card, int64, error) {
	total, err := Count(tx, accountID, f)
	if err != nil {
		return nil, 0, err
	}
	where := f.Where(accountID)
	// The subquery selects only ids, so that SQLite can often skip rows by an index, without reading them.
	cards, err := store.List[Card](tx, selectCards+`
		WHERE c.id IN (SELECT c.id FROM cards c `+where.SQL+` ORDER BY c.id DESC LIMIT ? OFFSET ?) ORDER BY c.id DESC`,
		append(where.Args, page.Size, page.Offset())...)
	if err != nil {
		return nil, 0, err
	}
	return cards, total, nil
}

// Count returns the number of cards that match a filter.
func Count(tx *store.Tx, accountID int64, f Filter) (int64, error) {
	where := f.Where(accountID)
	return store.Value[int64](tx, `SELECT COUNT(*) FROM cards c `+where.SQL, where.Args...)
}

// Counts are the numbers of cards with each status.
type Counts struct{ Active, Frozen, Terminated int64 }

// CountByStatus counts the cards of an account.
func CountByStatus(tx *store.Tx, accountID int64) (Counts, error) {
	var counts Counts
	_, err := tx.Get([]any{&counts.Active, &counts.Frozen, &counts.Terminated}, `
		SELECT COUNT(*) FILTER (WHERE status = ?), COUNT(*) FILTER (WHERE status = ?), COUNT(*) FILTER (WHERE status = ?)
		FROM cards WHERE account_id = ?`, Active, Frozen, Terminated, accountID)
	return counts, err
}

// SearchNearLimit returns up to maxCards active cards, newest first, that have used more than nine tenths of their spending
// limit in this UTC month.
func SearchNearLimit(tx *store.Tx, accountID, maxCards int64) ([]*Card, error) {
	month := tx.Now().Format("2006-01")
	return store.List[Card](tx, selectCards+`
		JOIN card_spending s ON s.card_id = c.id AND s.month = ?
		WHERE c.account_id = ? AND c.status = ? AND s.amount * 10 > c.spending_limit * 9
		ORDER BY c.id DESC LIMIT ?`, month, accountID, Active, maxCards)
}
