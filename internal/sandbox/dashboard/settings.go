package dashboard

import (
	"fmt"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// setting is a limit or a quirk of the file.
type setting struct {
	Name, About  string
	Value, Usual string
	Words        []string // that it can be; empty: a number, or a text
}

// field is a setting in a form.
type field struct {
	setting

	Choices choices // of the words
}

func newField(f frame, action string, s setting) field {
	return field{s, newSelection(f, action, s.Name, s.Value, s.Words)}
}

func limitSettings(limits behavior.Limits) []setting {
	usual := behavior.DocumentedLimits()
	limit := func(name string, value, usual int64) setting {
		return setting{Name: name, Value: fmt.Sprint(value), Usual: fmt.Sprint(usual)}
	}
	return []setting{
		limit("requests_per_minute", limits.RequestsPerMinute, usual.RequestsPerMinute),
		limit("requests_per_hour", limits.RequestsPerHour, usual.RequestsPerHour),
		limit("creates_per_minute", limits.CreatesPerMinute, usual.CreatesPerMinute),
		limit("details_per_minute", limits.DetailsPerMinute, usual.DetailsPerMinute),
	}
}

func setLimits(f form) server.Operation {
	fields := map[string]any{}
	for _, limit := range limitSettings(behavior.Limits{}) {
		fields[limit.Name] = f.Number(limit.Name)
	}
	return server.Operation{Route: http.MethodPut + " " + server.Control + "/limits", Fields: fields}
}

// walletFields are the fields of the form that make up one quirk.
func walletFields() [2]string { return [2]string{"wallet_field_1", "wallet_field_2"} }

func quirkSettings(quirks behavior.Quirks) (settings []setting) {
	usual := behavior.DefaultQuirks()
	for _, c := range quirks.Choices() {
		settings = append(settings, setting{c.Name, c.About, *c.Value, c.Words[0], c.Words})
	}
	for i, n := range quirks.Numbers() {
		s := setting{Name: n.Name, About: n.About, Value: fmt.Sprint(*n.Value), Usual: fmt.Sprint(*usual.Numbers()[i].Value)}
		for _, only := range n.Only {
			s.Words = append(s.Words, fmt.Sprint(only))
		}
		settings = append(settings, s)
	}
	for i, name := range walletFields() {
		settings = append(settings, setting{
			Name: name, About: "the name of a BIN’s field for a mobile wallet", Value: quirks.WalletFields[i], Usual: usual.WalletFields[i],
		})
	}
	return settings
}

func setQuirks(f form) server.Operation {
	names := walletFields()
	fields := map[string]any{"wallet_fields": []string{f.Text(names[0]), f.Text(names[1])}}
	usual := behavior.DefaultQuirks()
	for _, choice := range usual.Choices() {
		fields[choice.Name] = f.Text(choice.Name)
	}
	for _, number := range usual.Numbers() {
		fields[number.Name] = f.Number(number.Name)
	}
	return server.Operation{Route: http.MethodPut + " " + server.Control + "/quirks", Fields: fields}
}

// restore puts all settings back to what they are when nobody asks for anything else.
func restore(settings string) func(form) server.Operation {
	return func(form) server.Operation {
		return server.Operation{Route: http.MethodPut + " " + server.Control + settings, Fields: map[string]any{}}
	}
}
