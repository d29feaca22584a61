package sandbox

import (
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// bindSealedValues seals every value of an earlier version's file for its row.
func bindSealedValues(tx *store.Tx, keys *vault.Keyring) error {
	type value struct {
		id    string // of the row
		value []byte
	}
	for _, column := range []struct {
		purpose     vault.Purpose
		table, name string
		unsealed    bool
	}{
		{purpose: vault.APIKeyOfAccount, table: "accounts", name: "key_sealed"},
		{purpose: vault.SecretOfWebhook, table: "webhooks", name: "secret_sealed"},
		{purpose: vault.URLOfWebhook, table: "webhooks", name: "url_sealed", unsealed: true},
		{purpose: vault.PayloadOfEvent, table: "events", name: "payload_sealed"},
	} {
		values, err := store.Select(tx, func(row store.Row) (v value, err error) {
			return v, row.Scan(&v.id, &v.value)
		}, fmt.Sprintf(`SELECT public_id, %s FROM %s WHERE %[1]s IS NOT NULL`, column.name, column.table))
		if err != nil {
			return err
		}
		for _, v := range values {
			if !column.unsealed {
				if v.value, err = keys.OpenUnbound(v.value); err != nil {
					return err
				}
			}
			err := tx.Exec(fmt.Sprintf(`UPDATE %s SET %s = ? WHERE public_id = ?`, column.table, column.name),
				keys.Seal(column.purpose, v.id, v.value), v.id)
			if err != nil {
				return err
			}
		}
	}
	if err := bindResponses(tx, keys); err != nil {
		return err
	}
	return tx.Exec(`UPDATE service SET sealed_values_bound = TRUE`)
}

func bindResponses(tx *store.Tx, keys *vault.Keyring) error {
	type response struct {
		accountID         int64
		key, method, path string
		body              []byte
	}
	responses, err := store.Select(tx, func(row store.Row) (r response, err error) {
		return r, row.Scan(&r.accountID, &r.key, &r.method, &r.path, &r.body)
	}, `SELECT account_id, key, method, path, response FROM idempotent_responses`)
	if err != nil {
		return err
	}
	for _, r := range responses {
		if r.body, err = keys.OpenUnbound(r.body); err != nil {
			return err
		}
		id := server.ResponseID(r.accountID, r.method, r.path, r.key)
		err := tx.Exec(`UPDATE idempotent_responses SET response = ? WHERE account_id = ? AND key = ? AND method = ? AND path = ?`,
			keys.Seal(vault.IdempotentResponse, id, r.body), r.accountID, r.key, r.method, r.path)
		if err != nil {
			return err
		}
	}
	return nil
}
