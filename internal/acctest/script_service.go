package acctest

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// verb is something that happens at the service, or on the way there.
type verb struct {
	usage       string
	least, most int // arguments, without flags
	do          func(s *script, o options, args []string) error
}

// authorization is a purchase that is held on a card.
type authorization struct{ card, id string }

// options are the flags of verbs.
type options struct {
	times int    // how many calls meet it; 0: all
	fee   string // that the service takes besides
	of    string // whose purchase
	retry string // Retry-After of an answer
}

const many = 99

// verbs are what `service` takes. CARD is a label, or the number in the order of issue; METHOD
// and PATH are a call of the API, where * stands for one part of the path, as in /cards/*/fund
// or /cards?status=frozen.
func verbs() map[string]verb {
	return map[string]verb{
		// What others do.
		"issue":     {"LABEL AMOUNT", 2, 2, (*script).issue},
		"fund":      {"CARD AMOUNT", 2, 2, byHand},
		"withdraw":  {"CARD AMOUNT", 2, 2, byHand},
		"freeze":    {"CARD", 1, 1, byHand},
		"unfreeze":  {"CARD", 1, 1, byHand},
		"terminate": {"CARD", 1, 1, (*script).terminate},
		"spend":     {"[-fee AMOUNT] CARD|all AMOUNT: is held on the card, or declined, which fails", 2, 2, (*script).spend},
		"settle":    {"[-of CARD] [-fee AMOUNT] [AMOUNT]: of the oldest purchase that is held, on the card", 0, 1, (*script).settle},
		"refund":    {"[AMOUNT]: of the purchase that was settled last", 0, 1, (*script).refund},
		"account":   {"NAME [STATE]: sets a variable to the key of another account, which is ready", 1, 2, (*script).account},
		"call":      {"METHOD PATH [BODY]: of the API, or below /_sandbox", 2, 3, (*script).call},

		// What the service is like.
		"quirk": {"NAME=VALUE…: as in /_sandbox/quirks", 1, many, (*script).quirk},
		"clock": {"DURATION|TIME: passes until then at the service, and for providers in the test's process", 1, 1, (*script).passes},
		"note":  {": the next lag shows what was read before as it is now", 0, 0, (*script).note},
		"lag":   {"READS|DURATION: so long, what was read before is read as it is now", 1, 1, (*script).lag},

		// What a call meets: the next one, or as many as -times says, where 0 is all.
		"lose":   {"[-times N] METHOD PATH: the service gets it, its answer is lost", 2, 2, meets(true, drop)},
		"drop":   {"[-times N] METHOD PATH: the service does not get it, nothing answers", 2, 2, meets(false, drop)},
		"hold":   {"[-times N] METHOD PATH: nothing answers, the service gets it by `service release`", 2, 2, meets(false, hold)},
		"refuse": {"[-times N] METHOD PATH CODE MESSAGE: the service answers 400", 4, 4, meets(false, refuse)},
		"answer": {"[-times N] [-retry-after SECONDS] METHOD PATH STATUS BODY: something on the way answers", 4, 4, meets(false, answer)},
		"garble": {"[-times N] METHOD PATH STATUS BODY: the service gets it, something else answers", 4, 4, meets(true, answer)},
		"show":   {"[-times N] METHOD PATH FIELD=VALUE…: it is answered with other fields of a card", 3, many, meets(true, show)},
		"delay":  {"[-times N] METHOD PATH DURATION: the service gets it after that, in real time", 3, 3, meets(false, delay)},
		"during": {"[-times N] METHOD PATH VERB ARGS…: a verb, just before the service gets it", 3, many, (*script).during},

		// What the run meets when the call, or the last of -times calls, is made during apply.
		"kill":          {"[-times N] before|after METHOD PATH: ends CLI and provider, before or after the service gets it", 3, 3, strikes},
		"kill-provider": {"[-times N] before|after METHOD PATH: ends the provider alone", 3, 3, strikes},
		"cancel":        {"before|after METHOD PATH: interrupts the CLI until it ends", 3, 3, strikes},
		"interrupt":     {"METHOD PATH: interrupts the CLI once, after the answer", 2, 2, strikes},

		"release": {": the service gets the calls that were held", 0, 0, (*script).release},
		"clear":   {": calls meet nothing any more, and nothing lags", 0, 0, (*script).clear},
	}
}

// happens is the command `service`.
func (s *script) happens(args []string) error {
	one, known := verbs()[args[0]]
	if !known {
		return usage("no verb %q", args[0])
	}
	o := options{times: 1}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.IntVar(&o.times, "times", 1, "")
	flags.StringVar(&o.fee, "fee", "0", "")
	flags.StringVar(&o.of, "of", "", "")
	flags.StringVar(&o.retry, "retry-after", "", "")
	if err := flags.Parse(args[1:]); err != nil || flags.NArg() < one.least || flags.NArg() > one.most {
		return usage("usage: service %s %s", args[0], one.usage)
	}
	return one.do(s, o, append(args[:1:1], flags.Args()...)) // the verb is the first of them
}

func (s *script) issue(_ options, args []string) error {
	return failure(s.service.Send(s.t.Context(), http.MethodPost, "/cards",
		fmt.Sprintf(`{"bin_id":%q,"label":%q,"amount":%s}`, sandboxtest.BIN, args[1], args[2])))
}

// byHand moves money, freezes or unfreezes, as somebody does beside Terraform.
func byHand(s *script, _ options, args []string) error {
	id, err := s.id(args[1])
	if err != nil {
		return err
	}
	var body any
	if len(args) > 2 {
		body = fmt.Sprintf(`{"amount":%s}`, args[2])
	}
	return failure(s.service.Send(s.t.Context(), http.MethodPost, "/cards/"+id+"/"+args[0], body))
}

func (s *script) terminate(_ options, args []string) error {
	id, err := s.id(args[1])
	if err != nil {
		return err
	}
	return failure(s.service.Send(s.t.Context(), http.MethodDelete, "/cards/"+id, nil))
}

// failure is the service's refusal.
func failure(r sandboxtest.Response) error {
	if r.Err != nil || r.Status/100 != 2 {
		return fmt.Errorf("answered %d: %s %w", r.Status, r.Raw, r.Err)
	}
	return nil
}

func (s *script) spend(o options, args []string) error {
	if args[1] == "all" {
		all := s.all()
		for i, card := range all {
			if card["status"] == "terminated" {
				continue
			}
			if err := s.spend(o, []string{args[0], strconv.Itoa(len(all) - i), args[2]}); err != nil {
				return err
			}
		}
		return nil
	}
	id, err := s.id(args[1])
	if err != nil {
		return err
	}
	const advertising = "7311"
	bought := s.service.Authorize(id, args[2], advertising, `"fee":`+o.fee)
	if reason := bought.Body["decline_reason"]; reason != nil {
		return fmt.Errorf("declined: %v", reason)
	}
	s.authorizations = append(s.authorizations, authorization{id, bought.Transaction()})
	return nil
}

func (s *script) settle(o options, args []string) error {
	var of string
	var err error
	if o.of != "" {
		of, err = s.id(o.of)
	}
	number := slices.IndexFunc(s.authorizations, func(one authorization) bool { return of == "" || one.card == of })
	if err != nil || number < 0 {
		return cmp.Or(err, usage("no such purchase is held"))
	}
	s.settlement = s.service.Settle(s.authorizations[number].id, optional(args), `"fee":`+o.fee).Transaction()
	s.authorizations = slices.Delete(s.authorizations, number, number+1)
	return nil
}

func (s *script) refund(_ options, args []string) error {
	s.service.Refund(s.settlement, optional(args)).Transaction()
	return nil
}

func optional(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

func (s *script) call(_ options, args []string) error {
	var body any
	if len(args) > 3 {
		body = args[3]
	}
	return failure(s.service.Send(s.t.Context(), args[1], args[2], body))
}

func (s *script) account(_ options, args []string) error {
	state := cmp.Or(optional(args[1:]), "ready")
	s.ts.Setenv(args[1], s.service.Post("/_sandbox/accounts", map[string]any{"state": state, "initial_balance": 10000}).Must().Text("api_key"))
	return nil
}

func (s *script) quirk(_ options, args []string) error {
	quirks := map[string]any{}
	for _, quirk := range args[1:] {
		name, value, _ := strings.Cut(quirk, "=")
		quirks[name] = value
		if json.Valid([]byte(value)) {
			quirks[name] = json.RawMessage(value)
		}
	}
	s.service.AddQuirks(quirks)
	return nil
}

func (s *script) passes(_ options, args []string) error {
	d, err := time.ParseDuration(args[1])
	if until, notATime := time.Parse(time.RFC3339, args[1]); notATime == nil {
		var now time.Time
		now, err = time.Parse(time.RFC3339, s.net.clock().Text("now"))
		d = until.Sub(now)
	}
	if err != nil {
		return usageError{err}
	}
	return s.clock.Wait(s.t.Context(), d)
}
