// Package account manages the sandbox's accounts, their onboarding and their API keys. In its comments, the file is the
// sandbox's database.
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

// State is the state of an account's onboarding.
type State string

// The states of the onboarding, in their order.
const (
	EmailUnconfirmed State = "email_unconfirmed"
	NoDeposit        State = "no_deposit"
	APINotEnabled    State = "api_not_enabled"
	Ready            State = "ready"
)

// States returns the names of all states, Ready first.
func States() []string {
	return []string{string(Ready), string(EmailUnconfirmed), string(NoDeposit), string(APINotEnabled)}
}

// Account is a customer of the service.
type Account struct {
	ID       int64  `json:"-" db:"id"`
	PublicID string `json:"account_id" db:"public_id"`
	State    State  `json:"state" db:"state"`
	KeyID    int64  `json:"-"` // the id of the additional key by which ByKey found the account; otherwise 0
}

// firstPublicID is the public id of a file's first account.
const firstPublicID = "acct_first"

// IsFirst reports whether this is the first account of the file.
func (a Account) IsFirst() bool { return a.PublicID == firstPublicID }

// ByKey returns the account of an API key. Its ID is 0 if there is none.
func ByKey(tx *store.Tx, key string) (Account, error) {
	var a Account // stays empty if no row is found
	// The first SELECT finds an account by its first key, the second by an additional key.
	_, err := tx.Get([]any{&a.ID, &a.PublicID, &a.State, &a.KeyID}, `
		SELECT id, public_id, state, 0 FROM accounts WHERE key_hash = ?1
		UNION ALL
		SELECT a.id, a.public_id, a.state, k.id FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = ?1
		LIMIT 1`, vault.HashAPIKey(key))
	return a, err
}

// CounterID returns the id under which calls are counted. Limits apply to each key separately. For an additional key, it
// is the negated KeyID, so that it differs from the ids of accounts. Otherwise, it is the ID.
func (a Account) CounterID() int64 {
	if a.KeyID != 0 {
		return -a.KeyID
	}
	return a.ID
}

// maxKeys is the maximum number of additional keys of an account.
const maxKeys = 100

// AddKey creates an additional API key of an account. It returns the key's public id and the key itself. If the account
// already has maxKeys, it returns a 400.
func (a Account) AddKey(tx *store.Tx, keys *vault.Keyring) (id, key string, err error) {
	existing, err := store.Value[int](tx, `SELECT COUNT(*) FROM api_keys WHERE account_id = ?`, a.ID)
	if err != nil {
		return "", "", err
	}
	if existing >= maxKeys {
		return "", "", wire.Invalid("the account already has %d additional keys, the maximum; revoke one first", existing)
	}
	id = tx.NewID("key_")
	key = keys.APIKey(id)
	err = tx.Exec(`INSERT INTO api_keys (public_id, account_id, key_hash) VALUES (?, ?, ?)`, id, a.ID, vault.HashAPIKey(key))
	if err != nil {
		return "", "", err
	}
	return id, key, nil
}

// RevokeKey deletes an additional key of an account. It returns a 404 if the account has no such key.
func (a Account) RevokeKey(tx *store.Tx, id string) error {
	var deleted int64
	found, err := tx.Get([]any{&deleted}, `DELETE FROM api_keys WHERE public_id = ? AND account_id = ? RETURNING id`, id, a.ID)
	if err != nil {
		return err
	}
	if !found {
		return wire.NotFound("additional key", id)
	}
	return nil
}

// ByID returns the account with an id. Its ID is 0 if there is none.
func ByID(tx *store.Tx, id int64) (Account, error) { return get(tx, `WHERE id = ?`, id) }

// First returns the first account of the file. Its ID is 0 if there is none.
func First(tx *store.Tx) (Account, error) { return get(tx, `WHERE public_id = ?`, firstPublicID) }

// selectAccounts selects the fields of an Account except KeyID.
const selectAccounts = `SELECT id, public_id, state FROM accounts `

// get returns the account that a condition selects. Its ID is 0 if there is none.
func get(tx *store.Tx, where string, args ...any) (Account, error) {
	var a Account // stays empty if no row is found
	_, err := tx.Get([]any{&a.ID, &a.PublicID, &a.State}, selectAccounts+where, args...)
	return a, err
}

// List returns a page of the accounts, oldest first, and the total number of accounts.
func List(tx *store.Tx, page wire.Page) ([]*Account, int64, error) {
	accounts, err := store.List[Account](tx, selectAccounts+`ORDER BY id LIMIT ? OFFSET ?`, page.Size, page.Offset())
	if err != nil {
		return nil, 0, err
	}
	total, err := count(tx)
	return accounts, total, err
}

// count returns the total number of accounts.
func count(tx *store.Tx) (int64, error) {
	return store.Value[int64](tx, `SELECT COUNT(*) FROM accounts`)
}

// New is an account to be created.
type New struct {
	PublicID string
	State    State
	Key      string     // if empty, the key is derived from the public id
	Balance  usd.Amount // the opening balance of the wallet
}

// maxAccounts is the maximum number of accounts of a file.
const maxAccounts = 100

// Create adds an account with its ledger and returns the account's API key. If the file already has maxAccounts, it
// returns a 400.
func Create(tx *store.Tx, keys *vault.Keyring, n New) (string, error) {
	existing, err := count(tx)
	if err != nil {
		return "", err
	}
	if existing >= maxAccounts {
		return "", wire.Invalid("the sandbox already has %d accounts, the maximum; a reset removes all but the first", existing)
	}
	key := cmp.Or(n.Key, keys.APIKey(n.PublicID))
	id, err := tx.Insert(`INSERT INTO accounts (public_id, key_hash, chosen_key, state) VALUES (?, ?, NULLIF(?, ''), ?)`,
		n.PublicID, vault.HashAPIKey(key), n.Key, n.State)
	if err != nil {
		return "", err
	}
	err = openLedger(tx, id, n.Balance)
	if err != nil {
		return "", err
	}
	return key, nil
}

// openLedger creates the ledger accounts of an account and adds the opening balance to its wallet.
func openLedger(tx *store.Tx, accountID int64, balance usd.Amount) error {
	err := ledger.OpenAccounts(tx, accountID)
	if err != nil {
		return err
	}
	if balance == 0 {
		return nil
	}
	return ledger.Post(tx, accountID, ledger.OpeningBalance,
		ledger.NewLeg(ledger.Deposits, -balance), ledger.NewLeg(ledger.Wallet, balance))
}

// AdvanceAfterDeposit advances the onboarding of an account in the state NoDeposit. In another state, it does nothing.
func AdvanceAfterDeposit(tx *store.Tx, accountID int64) error {
	return tx.Exec(`UPDATE accounts SET state = ? WHERE id = ? AND state = ?`, APINotEnabled, accountID, NoDeposit)
}

// CreateFirst adds the first account of a file, in the state Ready.
func CreateFirst(tx *store.Tx, keys *vault.Keyring, chosenKey string, balance usd.Amount) error {
	_, err := Create(tx, keys, New{PublicID: firstPublicID, State: Ready, Key: chosenKey, Balance: balance})
	return err
}

// ResetFirst deletes the ledger and all accounts except the first, which gets the file's initial balance again. The
// caller must first delete the rows of other tables that refer to the deleted rows, such as cards.
func ResetFirst(tx *store.Tx) error {
	for _, statement := range []string{
		`DELETE FROM ledger_postings`,
		`DELETE FROM ledger_entries`,
		`DELETE FROM ledger_accounts`,
		`DELETE FROM accounts WHERE public_id <> '` + firstPublicID + `'`,
	} {
		err := tx.Exec(statement)
		if err != nil {
			return err
		}
	}
	var id int64
	var balance usd.Amount
	// Each of these two tables has one row now.
	_, err := tx.Get([]any{&id, &balance}, `SELECT a.id, s.initial_balance FROM accounts a, service s`)
	if err != nil {
		return err
	}
	return openLedger(tx, id, balance)
}

// Key returns the first API key of an account: the chosen key or, if none was chosen, the derived key. It returns an
// error if the key does not match the account's hash, for example because the file has another master key.
func Key(tx *store.Tx, keys *vault.Keyring, publicID string) (string, error) {
	var hash []byte // stays nil, which matches no key, if there is no such account
	var chosen string
	_, err := tx.Get([]any{&hash, &chosen},
		`SELECT key_hash, COALESCE(chosen_key, '') FROM accounts WHERE public_id = ?`, publicID)
	if err != nil {
		return "", err
	}
	key := cmp.Or(chosen, keys.APIKey(publicID))
	if !bytes.Equal(hash, vault.HashAPIKey(key)) {
		return "", errors.New("the file is damaged: its master key does not match its accounts; choose another path")
	}
	return key, nil
}
