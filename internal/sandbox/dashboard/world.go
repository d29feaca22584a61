package dashboard

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func worldActions() []action {
	const (
		limits, quirks   = "PUT " + server.Control + "/limits", "PUT " + server.Control + "/quirks"
		faults, accounts = server.Control + "/faults", server.Control + "/accounts"
	)
	return []action{
		{name: "advance", route: "POST " + server.Control + "/clock", texts: "advance", done: "The clock is advanced."},
		{name: "set-limits", route: limits, body: settingFields, done: "The limits are saved."},
		{name: "restore-limits", route: limits, done: "The default limits are restored."},
		{name: "set-quirks", route: quirks, body: quirkFields, done: "The quirks are saved."},
		{name: "restore-quirks", route: quirks, done: "The default quirks are restored."},
		{name: "add-fault", route: "POST " + faults, texts: "method path when", numbers: "times delay_ms later_seconds", body: faultResponse, done: "The fault is added."},
		{name: "preset", route: "POST " + faults, body: func(f form) map[string]any { return presets()[f.text("preset")] }, done: "The fault is added."},
		{name: "simulate", route: "POST " + server.Control + "/simulate", numbers: "days purchases_per_day declines seed", body: merchantNames, done: "Simulated $purchases purchases on $cards cards; $declined were declined. The clock is advanced."},
		{name: "remove-fault", route: "DELETE " + faults + "/{id}", texts: "id", done: "The fault is removed."},
		{name: "remove-faults", route: "DELETE " + faults, done: "All faults are removed."},
		{name: "create-account", route: "POST " + accounts, texts: "state", numbers: "initial_balance"},
		{name: "reset", route: "POST " + server.Control + "/reset", done: "The sandbox is reset."},
	}
}

type world struct {
	behaviors

	Created  *createdAccount // only in response to the press that created it
	States   []string
	Presets  map[string]map[string]any
	Accounts []*account.Account // for the first one alone
}

type createdAccount struct {
	ID  string `json:"account_id"`
	Key string `json:"api_key"`
}

func readWorld(v *view) (any, error) {
	w := &world{States: account.States(), Presets: presets()}
	if created := new(createdAccount); v.response("create-account", created) {
		w.Created = created
	}
	var err error
	if w.behaviors, err = readBehaviors(v.Tx); err != nil || !v.Account.First() {
		return w, err
	}
	l := v.list()
	accounts, total, err := account.List(v.Tx, l.page)
	w.Accounts = accounts
	l.showsOf(len(accounts), total)
	return w, err
}

// faultResponse is what a fault responds with, if anything.
func faultResponse(f form) map[string]any {
	then := f.text("then")
	if then != "status" {
		return map[string]any{"then": then}
	}
	response := map[string]any{"status": f.number("status")}
	if body := f.text("body"); json.Valid([]byte(body)) {
		response["body"] = json.RawMessage(body)
	} else if body != "" {
		response["body"] = body
	}
	return map[string]any{"then": response}
}

// presets are faults that clients meet, by what they are called.
func presets() map[string]map[string]any {
	return map[string]map[string]any{
		"committed, answer lost": {"method": "POST", "path": behavior.Any, "when": "after", "then": "drop"},
		"maintenance":            {"method": "*", "path": behavior.Any, "times": 0, "then": map[string]any{"status": 503}},
		"rate limited": {"method": "*", "path": behavior.Any, "times": 3, "then": map[string]any{
			"status": 429, "body": map[string]string{"error": wire.CodeRateLimited, "message": "the API key has used up a limit"},
		}},
	}
}

// merchantNames are the names between commas.
func merchantNames(f form) map[string]any {
	var names []string
	for name := range strings.SplitSeq(f.text("merchants"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return map[string]any{"merchants": names} // null counts as absent
}

// setting is a limit or a quirk of the file in a form.
type setting struct {
	behavior.Setting

	Usual  string
	Action string // of the form
}

// settings returns the changed ones first.
func settings(action string, now, usual []behavior.Setting) (all []*setting) {
	for i, s := range now {
		all = append(all, &setting{s, usual[i].Value(), action})
	}
	slices.SortStableFunc(all, func(a, b *setting) int { return changed(b) - changed(a) })
	return all
}

// changed is how many settings are not as usual.
func changed(settings ...*setting) (n int) {
	for _, s := range settings {
		if s.Value() != s.Usual {
			n++
		}
	}
	return n
}

// behaviors are how the service behaves.
type behaviors struct {
	Limits []*setting
	Quirks []*setting
	Faults []behavior.Fault
}

func readBehaviors(tx *store.Tx) (b behaviors, err error) {
	limits, err := behavior.ReadLimits(tx)
	quirks, failed := behavior.ReadQuirks(tx)
	documented, usual := behavior.DocumentedLimits(), behavior.DefaultQuirks()
	b.Limits = settings("set-limits", limits.Settings(), documented.Settings())
	b.Quirks = settings("set-quirks", quirkSettings(&quirks), quirkSettings(&usual))
	var unread error
	b.Faults, unread = behavior.Faults(tx)
	return b, errors.Join(err, failed, unread)
}

// walletFields are the fields of the form that make up one quirk.
func walletFields() [2]string { return [2]string{"wallet_field_1", "wallet_field_2"} }

func quirkSettings(q *behavior.Quirks) []behavior.Setting {
	all := q.Settings()
	for i, name := range walletFields() {
		all = append(all, behavior.Setting{Name: name, About: "name of a mobile wallet field of a BIN", Text: &q.WalletFields[i]})
	}
	return all
}

// settingFields are the fields of a form of settings.
func settingFields(f form) map[string]any {
	fields := map[string]any{}
	for name := range f.request.PostForm {
		if name != "page" && name != "action" {
			fields[name] = f.number(name)
		}
	}
	return fields
}

func quirkFields(f form) map[string]any {
	fields := settingFields(f)
	names := walletFields()
	fields["wallet_fields"] = []string{f.text(names[0]), f.text(names[1])}
	delete(fields, names[0])
	delete(fields, names[1])
	return fields
}
