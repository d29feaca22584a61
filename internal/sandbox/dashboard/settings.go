package dashboard

import (
	"fmt"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// setting is a limit or a quirk of the file.
type setting struct {
	Name, About  string
	Value, Usual string
	Words        []string // that it can be; empty: a number, or a text
}

// behaviors are how the service behaves.
type behaviors struct {
	Limits []*setting
	Quirks []*setting
	Faults []behavior.Fault
}

func readBehaviors(tx *store.Tx) (b behaviors, err error) {
	limits, err := behavior.ReadLimits(tx)
	if err != nil {
		return b, err
	}
	quirks, err := behavior.ReadQuirks(tx)
	if err != nil {
		return b, err
	}
	b.Limits, b.Quirks = limitSettings(limits), quirkSettings(quirks)
	b.Faults, err = behavior.Faults(tx)
	return b, err
}

// field is a setting in a form.
type field struct {
	*setting

	Choices *choices // of the words
}

func newField(f *frame, action string, s *setting) field {
	return field{s, newSelection(f, action, s.Name, s.Value, s.Words)}
}

func limitSettings(limits behavior.Limits) []*setting {
	usual := behavior.DocumentedLimits()
	return []*setting{
		newNumber("requests_per_minute", limits.RequestsPerMinute, usual.RequestsPerMinute),
		newNumber("requests_per_hour", limits.RequestsPerHour, usual.RequestsPerHour),
		newNumber("creates_per_minute", limits.CreatesPerMinute, usual.CreatesPerMinute),
		newNumber("details_per_minute", limits.DetailsPerMinute, usual.DetailsPerMinute),
	}
}

func newNumber(name string, value, usual int64) *setting {
	return &setting{Name: name, Value: fmt.Sprint(value), Usual: fmt.Sprint(usual)}
}

// walletFields are the fields of the form that make up one quirk.
func walletFields() [2]string { return [2]string{"wallet_field_1", "wallet_field_2"} }

func quirkSettings(quirks behavior.Quirks) (settings []*setting) {
	for _, c := range quirks.Choices() {
		settings = append(settings, &setting{c.Name, c.About, *c.Value, c.Words[0], c.Words})
	}
	for _, n := range quirks.Numbers() {
		s := newNumber(n.Name, *n.Value, n.Usual)
		s.About = n.About
		for _, only := range n.Only {
			s.Words = append(s.Words, fmt.Sprint(only))
		}
		settings = append(settings, s)
	}
	usual := behavior.DefaultQuirks()
	for i, name := range walletFields() {
		const about = "the name of a BIN’s field for a mobile wallet"
		settings = append(settings, &setting{name, about, quirks.WalletFields[i], usual.WalletFields[i], nil})
	}
	slices.SortStableFunc(settings, func(a, b *setting) int { // the changed ones first
		return int(changed([]*setting{b}) - changed([]*setting{a}))
	})
	return settings
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
