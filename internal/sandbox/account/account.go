// Package account holds the customers of the sandbox's service.
package account

import (
	"bytes"
	"cmp"
	"errors"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// State is how far an account's onboarding has come.
type State string

// The states in the order in which an owner reaches them.
const (
	EmailUnconfirmed State = "email_unconfirmed"
	NoDeposit        State = "no_deposit"
	APINotEnabled    State = "api_not_enabled"
	Ready            State = "ready"
)

// States returns the names of all states, that of a usable account first.
func States() []string {
	return []string{string(Ready), string(EmailUnconfirmed), string(NoDeposit), string(APINotEnabled)}
}

// Account is a customer. Everything else in the file belongs to one.
type Account struct {
	ID       int64  `json:"-" db:"id"`
	PublicID string `json:"account_id" db:"public_id"`
	State    State  `json:"state" db:"state"`
	KeyID    int64  `json:"-"` // of the further key that a call has; 0: it has the account's own
}

// First tells whether the file began with this account.
func (a Account) First() bool { return a.PublicID == firstPublicID }

// ByKey returns the account that an API key opens; its ID is 0 when there is none.
func ByKey(tx *store.Tx, key string) (a Account, err error) {
	_, err = tx.Get([]any{&a.ID, &a.PublicID, &a.State, &a.KeyID}, `
		SELECT id, public_id, state, 0 FROM accounts WHERE key_hash = ?1 UNION ALL
		SELECT a.id, a.public_id, a.state, k.id FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = ?1 LIMIT 1`, vault.HashAPIKey(key))
	return a, err
}

// CountedBy is what the limits of the account's key are counted by.
func (a Account) CountedBy() int64 {
	if a.KeyID != 0 {
		return -a.KeyID
	}
	return a.ID
}

// maxKeys is how many further keys an account may have.
const maxKeys = 100

// AddKey makes a further key of an account.
func (a Account) AddKey(tx *store.Tx, keys *vault.Keyring) (id, key string, err error) {
	held, err := store.Value[int](tx, `SELECT COUNT(*) FROM api_keys WHERE account_id = ?`, a.ID)
	if err == nil && held >= maxKeys {
		err = wire.Invalid("the account has %d further keys already, the most there may be; revoke one first", held)
	}
	if err != nil {
		return "", "", err
	}
	id = tx.NewID("key_")
	key = keys.APIKey(id)
	return id, key, tx.Exec(`INSERT INTO api_keys (public_id, account_id, key_hash) VALUES (?, ?, ?)`, id, a.ID, vault.HashAPIKey(key))
}

// RevokeKey ends a further key of an account, or is a 404.
func (a Account) RevokeKey(tx *store.Tx, id string) error {
	found, err := tx.Get([]any{new(int64)}, `DELETE FROM api_keys WHERE public_id = ? AND account_id = ? RETURNING id`, id, a.ID)
	if err == nil && !found {
		err = wire.NotFound("further key", id)
	}
	return err
}

// ByID returns the account of a row; its ID is 0 when there is none.
func ByID(tx *store.Tx, id int64) (Account, error) { return one(tx, `WHERE id = ?`, id) }

// First returns the account that the file began with.
func First(tx *store.Tx) (Account, error) { return one(tx, `WHERE public_id = ?`, firstPublicID) }

const columns = `SELECT id, public_id, state FROM accounts `

func one(tx *store.Tx, where string, args ...any) (a Account, err error) {
	_, err = tx.Get([]any{&a.ID, &a.PublicID, &a.State}, columns+where, args...)
	return a, err
}

// List returns a page of the accounts, the oldest first, and how many there are.
func List(tx *store.Tx, page wire.Page) (accounts []*Account, total int64, err error) {
	accounts, err = store.List[Account](tx, columns+`ORDER BY id LIMIT ? OFFSET ?`, page.Size, page.Offset())
	if err != nil {
		return nil, 0, err
	}
	total, err = count(tx)
	return accounts, total, err
}

func count(tx *store.Tx) (int64, error) {
	return store.Value[int64](tx, `SELECT COUNT(*) FROM accounts`)
}

// New is an account to be created.
type New struct {
	PublicID string
	State    State
	Key      string     // empty: derived from the public id
	Balance  usd.Amount // deposited at once
}

const maxAccounts = 100

// Create adds an account with its ledger and returns its API key.
func Create(tx *store.Tx, keys *vault.Keyring, n New) (key string, err error) {
	held, err := count(tx)
	if err != nil {
		return "", err
	}
	if held >= maxAccounts {
		return "", wire.Invalid("there are %d accounts already, which is the most that a sandbox holds; a reset removes all but the first", held)
	}
	key = cmp.Or(n.Key, keys.APIKey(n.PublicID))
	id, err := tx.Insert(`INSERT INTO accounts (public_id, key_hash, chosen_key, state) VALUES (?, ?, NULLIF(?, ''), ?)`,
		n.PublicID, vault.HashAPIKey(key), n.Key, n.State)
	if err != nil {
		return "", err
	}
	return key, openLedger(tx, id, n.Balance)
}

func openLedger(tx *store.Tx, accountID int64, balance usd.Amount) error {
	if err := ledger.OpenAccounts(tx, accountID); err != nil || balance == 0 {
		return err
	}
	return ledger.Post(tx, accountID, ledger.OpeningBalance, ledger.On(ledger.Deposits, -balance), ledger.On(ledger.Wallet, balance))
}

// Deposited takes an account past its first deposit. What is left of its
// onboarding is for the support team to do.
func Deposited(tx *store.Tx, accountID int64) error {
	return tx.Exec(`UPDATE accounts SET state = ? WHERE id = ? AND state = ?`, APINotEnabled, accountID, NoDeposit)
}

const firstPublicID = "acct_first"

// CreateFirst adds the account that a file begins with, ready to be used.
func CreateFirst(tx *store.Tx, keys *vault.Keyring, chosenKey string, balance usd.Amount) error {
	_, err := Create(tx, keys, New{PublicID: firstPublicID, State: Ready, Key: chosenKey, Balance: balance})
	return err
}

// ResetFirst removes every other account, and gives the first one the balance that its
// file begins with. Nothing else is left of the ledger. The account keeps its row, since
// calls that are on their way may know it already.
func ResetFirst(tx *store.Tx) error {
	for _, rows := range []string{"ledger_postings", "ledger_entries", "ledger_accounts", "accounts WHERE public_id <> '" + firstPublicID + "'"} {
		if err := tx.Exec(`DELETE FROM ` + rows); err != nil {
			return err
		}
	}
	var (
		id      int64
		balance usd.Amount
	)
	if _, err := tx.Get([]any{&id, &balance}, `SELECT a.id, s.initial_balance FROM accounts a, service s`); err != nil {
		return err
	}
	return openLedger(tx, id, balance)
}

// Key returns the API key of an account, unless it was made under another master key.
func Key(tx *store.Tx, keys *vault.Keyring, publicID string) (string, error) {
	var (
		hash []byte
		key  string
	)
	if _, err := tx.Get([]any{&hash, &key}, `SELECT key_hash, COALESCE(chosen_key, '') FROM accounts WHERE public_id = ?`, publicID); err != nil {
		return "", err
	}
	key = cmp.Or(key, keys.APIKey(publicID))
	if !bytes.Equal(hash, vault.HashAPIKey(key)) {
		return "", errors.New("it is damaged: its master key does not fit its accounts; choose another path")
	}
	return key, nil
}
