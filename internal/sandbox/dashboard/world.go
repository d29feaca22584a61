package dashboard

import (
	"encoding/json"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func worldActions() []action {
	const (
		limits   = server.Control + "/limits"
		quirks   = server.Control + "/quirks"
		faults   = server.Control + "/faults"
		accounts = server.Control + "/accounts"
	)
	return []action{
		{
			name: "advance", route: "POST " + server.Control + "/clock", texts: []string{"advance"},
			done: "The clock is advanced.",
		},
		// A PUT without fields restores the defaults.
		{name: "set-limits", route: "PUT " + limits, body: settingFields, done: "The limits are saved."},
		{name: "restore-limits", route: "PUT " + limits, done: "The default limits are restored."},
		{name: "set-quirks", route: "PUT " + quirks, body: quirkFields, done: "The quirks are saved."},
		{name: "restore-quirks", route: "PUT " + quirks, done: "The default quirks are restored."},
		{
			name: "add-fault", route: "POST " + faults,
			texts: []string{"method", "path", "when"}, numbers: []string{"times", "delay_ms", "later_seconds"},
			body: faultResponse, done: "The fault is added.",
		},
		{name: "preset", route: "POST " + faults, body: presetFault, done: "The fault is added."},
		{
			name: "simulate", route: "POST " + server.Control + "/simulate",
			numbers: []string{"days", "purchases_per_day", "declines", "seed"}, body: merchantNames,
			done: "Simulated $purchases purchases on $cards cards; $declined were declined. The clock is advanced.",
		},
		{name: "remove-fault", route: "DELETE " + faults + "/{id}", texts: []string{"id"}, done: "The fault is removed."},
		{name: "remove-faults", route: "DELETE " + faults, done: "All faults are removed."},
		{name: "create-account", route: "POST " + accounts, texts: []string{"state"}, numbers: []string{"initial_balance"}},
		{name: "reset", route: "POST " + server.Control + "/reset", done: "The sandbox is reset."},
	}
}

// world is the data of the page with the settings of the sandbox.
type world struct {
	behaviors

	Created  *createdAccount           // nil unless the user has just created an account
	States   []string                  // of accounts
	Presets  map[string]map[string]any // common faults by their names
	Accounts []*account.Account        // empty unless the first account is signed in
}

// createdAccount is the response to a call that creates an account.
type createdAccount struct {
	ID  string `json:"account_id"`
	Key string `json:"api_key"`
}

func readWorld(v *view) (any, error) {
	w := &world{States: account.States(), Presets: presets()}
	created := new(createdAccount)
	if v.decodeResponse("create-account", created) {
		w.Created = created
	}
	var err error
	w.behaviors, err = readBehaviors(v.Tx)
	if err != nil {
		return nil, err
	}
	if !v.Account.IsFirst() { // only the first account sees the list
		return w, nil
	}
	l := v.readList()
	accounts, total, err := account.List(v.Tx, l.page)
	if err != nil {
		return nil, err
	}
	w.Accounts = accounts
	l.setRowsOfTotal(len(accounts), total)
	return w, nil
}

// faultResponse returns the field with the response of a fault.
func faultResponse(f form) map[string]any {
	then := f.text("then")
	if then != "status" {
		return map[string]any{"then": then}
	}
	response := map[string]any{"status": f.number("status")}
	body := f.text("body") // JSON, or else a text
	if json.Valid([]byte(body)) {
		response["body"] = json.RawMessage(body)
	} else if body != "" {
		response["body"] = body
	}
	return map[string]any{"then": response}
}

// presets returns the fields of common faults by their names. If times is 0, the fault stays until it is removed.
func presets() map[string]map[string]any {
	rateLimited := map[string]any{
		"status": 429,
		"body":   map[string]string{"error": wire.CodeRateLimited, "message": "the API key has reached a rate limit"},
	}
	return map[string]map[string]any{
		"committed, response lost": {"method": "POST", "path": behavior.Any, "when": behavior.After, "then": behavior.Drop},
		"maintenance":              {"method": behavior.Any, "path": behavior.Any, "times": 0, "then": map[string]any{"status": 503}},
		"rate limited":             {"method": behavior.Any, "path": behavior.Any, "times": 3, "then": rateLimited},
	}
}

// presetFault returns the fields of the common fault that the user has chosen, or nil if there is no such fault.
func presetFault(f form) map[string]any { return presets()[f.text("preset")] }

// merchantNames returns the field with the names of merchants, which commas separate in the form.
func merchantNames(f form) map[string]any {
	var names []string
	for name := range strings.SplitSeq(f.text("merchants"), ",") {
		name = strings.TrimSpace(name)
		if name != "" {
			names = append(names, name)
		}
	}
	// Without names, the field is null, as if it were absent.
	return map[string]any{"merchants": names}
}

// setting is a limit or a quirk in a form.
type setting struct {
	behavior.Setting

	Default string
	Action  string // of the form
}

// IsChanged reports whether the setting differs from its default.
func (s *setting) IsChanged() bool { return s.Value() != s.Default }

// settings returns the settings of a form, the changed ones first. current and defaults must have the same order.
func settings(action string, current, defaults []behavior.Setting) []*setting {
	var changed, unchanged []*setting
	for i, c := range current {
		s := &setting{Setting: c, Default: defaults[i].Value(), Action: action}
		if s.IsChanged() {
			changed = append(changed, s)
		} else {
			unchanged = append(unchanged, s)
		}
	}
	return append(changed, unchanged...)
}

// countChanged returns the number of settings that differ from their defaults.
func countChanged(settings []*setting) int {
	n := 0
	for _, s := range settings {
		if s.IsChanged() {
			n++
		}
	}
	return n
}

// behaviors are the settings and faults that determine how the service behaves.
type behaviors struct {
	Limits []*setting
	Quirks []*setting
	Faults []behavior.Fault
}

func readBehaviors(tx *store.Tx) (behaviors, error) {
	limits, err := behavior.ReadLimits(tx)
	if err != nil {
		return behaviors{}, err
	}
	quirks, err := behavior.ReadQuirks(tx)
	if err != nil {
		return behaviors{}, err
	}
	faults, err := behavior.ListFaults(tx)
	if err != nil {
		return behaviors{}, err
	}
	defaultLimits := behavior.DocumentedLimits()
	defaultQuirks := behavior.DefaultQuirks()
	return behaviors{
		Limits: settings("set-limits", limits.Settings(), defaultLimits.Settings()),
		Quirks: settings("set-quirks", quirkSettings(&quirks), quirkSettings(&defaultQuirks)),
		Faults: faults,
	}, nil
}

// walletFields returns the names of the two fields of the form that set the quirk wallet_fields.
func walletFields() [2]string { return [2]string{"wallet_field_1", "wallet_field_2"} }

// quirkSettings returns the settings of the quirks. The quirk wallet_fields is a list, so it has two settings.
func quirkSettings(q *behavior.Quirks) []behavior.Setting {
	all := q.Settings()
	for i, name := range walletFields() {
		all = append(all, behavior.Setting{Name: name, About: "name of the BIN field for a mobile wallet", Text: &q.WalletFields[i]})
	}
	return all
}

// settingFields returns the settings in a form, without the fields page and action, which are not settings.
func settingFields(f form) map[string]any {
	fields := map[string]any{}
	for name := range f.request.PostForm {
		if name != "page" && name != "action" {
			fields[name] = f.number(name) // a word stays a text
		}
	}
	return fields
}

// quirkFields is like settingFields, but joins the two wallet fields into one list.
func quirkFields(f form) map[string]any {
	fields := settingFields(f)
	names := walletFields()
	fields["wallet_fields"] = []string{f.text(names[0]), f.text(names[1])}
	delete(fields, names[0])
	delete(fields, names[1])
	return fields
}
