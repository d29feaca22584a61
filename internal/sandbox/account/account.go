// Package account holds the customers of the sandbox's service.
package account

import (
	"bytes"
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
	ID       int64  `json:"-"`
	PublicID string `json:"account_id"`
	State    State  `json:"state"`
}

// First tells whether the file began with this account.
func (a Account) First() bool { return a.PublicID == firstPublicID }

// ByKey returns the account that an API key opens.
func ByKey(tx *store.Tx, key string) (Account, bool) {
	return one(tx, `WHERE key_hash = ?`, vault.HashAPIKey(key))
}

// ByID returns the account of a row.
func ByID(tx *store.Tx, id int64) (Account, bool) { return one(tx, `WHERE id = ?`, id) }

// First returns the account that the file began with.
func First(tx *store.Tx) Account {
	a, _ := one(tx, `WHERE public_id = ?`, firstPublicID)
	return a
}

const columns = `SELECT id, public_id, state FROM accounts `

func one(tx *store.Tx, where string, args ...any) (a Account, found bool) {
	found = tx.Get([]any{&a.ID, &a.PublicID, &a.State}, columns+where, args...)
	return a, found
}

// List returns a page of the accounts of the file, the oldest first, and how many
// there are.
func List(tx *store.Tx, page wire.Page) (accounts []Account, total int64) {
	accounts = store.Select(tx, func(row store.Row) (a Account, err error) { return a, row.Scan(&a.ID, &a.PublicID, &a.State) },
		columns+`ORDER BY id LIMIT ? OFFSET ?`, page.Size, page.Offset())
	return accounts, count(tx)
}

func count(tx *store.Tx) int64 { return store.Value[int64](tx, `SELECT COUNT(*) FROM accounts`) }

// New is an account to be created.
type New struct {
	PublicID string
	State    State
	Key      string     // empty: derived from the public id
	Balance  usd.Amount // deposited at once
}

// maxAccounts is how many a file holds.
const maxAccounts = 100

// Create adds an account with its ledger and returns its API key. It refuses more
// than a file holds.
func Create(tx *store.Tx, keys *vault.Keyring, n New) (key string, err error) {
	if held := count(tx); held >= maxAccounts {
		return "", wire.Invalid("there are %d accounts already, which is the most that a sandbox holds; a reset removes all but the first", held)
	}
	key = keys.APIKey(n.PublicID)
	var sealed []byte
	if n.Key != "" {
		key, sealed = n.Key, keys.Seal(vault.APIKeyOfAccount, n.PublicID, []byte(n.Key))
	}
	id := tx.Insert(`INSERT INTO accounts (public_id, key_hash, key_sealed, state) VALUES (?, ?, ?, ?)`,
		n.PublicID, vault.HashAPIKey(key), sealed, n.State)
	openLedger(tx, id, n.Balance)
	return key, nil
}

func openLedger(tx *store.Tx, accountID int64, balance usd.Amount) {
	ledger.OpenAccounts(tx, accountID)
	if balance != 0 {
		ledger.Post(tx, accountID, ledger.OpeningBalance,
			ledger.On(ledger.Deposits, -balance), ledger.On(ledger.Wallet, balance))
	}
}

// Deposited takes an account past its first deposit. What is left of its
// onboarding is for the support team to do.
func Deposited(tx *store.Tx, accountID int64) {
	tx.Exec(`UPDATE accounts SET state = ? WHERE id = ? AND state = ?`, APINotEnabled, accountID, NoDeposit)
}

// firstPublicID names the account that a file begins with.
const firstPublicID = "acct_first"

// CreateFirst adds the account that a file begins with, ready to be used.
func CreateFirst(tx *store.Tx, keys *vault.Keyring, chosenKey string, balance usd.Amount) (key string, err error) {
	return Create(tx, keys, New{PublicID: firstPublicID, State: Ready, Key: chosenKey, Balance: balance})
}

// ResetFirst removes every other account, and gives the first one the balance that its
// file begins with. Nothing else is left of the ledger. The account keeps its row, since
// calls that are on their way may know it already.
func ResetFirst(tx *store.Tx) {
	for _, rows := range []string{"ledger_postings", "ledger_entries", "ledger_accounts", "accounts WHERE public_id <> '" + firstPublicID + "'"} {
		tx.Exec(`DELETE FROM ` + rows)
	}
	var (
		id      int64
		balance usd.Amount
	)
	tx.Get([]any{&id, &balance}, `SELECT a.id, s.initial_balance FROM accounts a, service s`)
	openLedger(tx, id, balance)
}

// Key returns the API key of an account. It fails when the master key is not the one
// that the account was made under.
func Key(tx *store.Tx, keys *vault.Keyring, publicID string) (string, error) {
	var hash, sealed []byte
	tx.Get([]any{&hash, &sealed}, `SELECT key_hash, key_sealed FROM accounts WHERE public_id = ?`, publicID)
	key := keys.APIKey(publicID)
	if sealed != nil {
		plain, err := keys.Open(vault.APIKeyOfAccount, publicID, sealed)
		if err != nil {
			return "", errForeignMasterKey
		}
		key = string(plain)
	}
	if !bytes.Equal(hash, vault.HashAPIKey(key)) {
		return "", errForeignMasterKey
	}
	return key, nil
}

var errForeignMasterKey = errors.New("it is damaged: its master key does not fit its accounts; choose another path")
