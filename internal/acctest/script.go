package acctest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Scripts runs the scripts of a folder, each with its own sandbox. CONTRIBUTING.md lists the commands that they can
// use besides those of testscript. A setting NAME=VALUE is an environment variable of all scripts, and its value is
// also a condition.
func Scripts(t *testing.T, folder string, settings ...string) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" || CLI() == "" {
		t.Skip("needs TF_ACC and Terraform or OpenTofu")
	}
	vcard := func(s *script, args []string) error { return s.ts.Exec(sandboxtest.Vcard(s.t), args...) }
	commands := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, command := range map[string]struct {
		usage       string
		least, most int // arguments
		do          func(s *script, args []string) error
	}{
		"terraform": {"ARGS…", 1, many, (*script).terraform},
		"built":     {"ARGS…", 1, many, (*script).runBuilt},
		"vcard":     {"ARGS…", 0, many, vcard},
		"service":   {"VERB ARGS…", 1, many, (*script).happens},
		"wallet":    {"AMOUNT", 1, 1, (*script).wallet},
		"cards":     {"NUMBER", 1, 1, (*script).cards},
		"card":      {"CARD FIELD=VALUE…", 2, many, (*script).card},
		"cardid":    {"CARD NAME", 2, 2, (*script).cardID},
		"requests":  {"METHOD PATH NUMBER[-NUMBER] [keys=NUMBER]", 3, 4, (*script).requests},
	} {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) < command.least || len(args) > command.most {
				ts.Fatalf("usage: %s %s", name, command.usage)
			}
			s, _ := ts.Value(scriptKey{}).(*script)
			s.ts = ts
			err := command.do(s, args)
			if err == nil && neg {
				ts.Fatalf("it should have failed")
			}
			misused := errors.As(err, new(usageError))
			if err != nil && (!neg || misused) {
				ts.Fatalf("%v", err)
			}
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: folder, Cmds: commands, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, settings...)
			return startScript(env)
		},
		Condition: func(name string) (bool, error) {
			isSet := slices.ContainsFunc(settings, func(setting string) bool { return strings.HasSuffix(setting, "="+name) })
			if isSet || settings != nil && !strings.Contains(name, ":") && name != "terraform" && name != "tofu" {
				return isSet, nil
			}
			return condition(name)
		},
	})
}

// T is a test, or that of a script.
type T interface {
	testing.TB
	Parallel()
}

type scriptKey struct{}

type usageError struct{ error }

func usage(format string, values ...any) error { return usageError{fmt.Errorf(format, values...)} }

// script is a running script with its service and the network between the provider and the service.
type script struct {
	t       T
	ts      *testscript.TestScript
	service *Service
	clock   *Clock // of the service and of providers in this process
	net     *network
	folder  string // for files that do not belong to the script
	built   bool   // the current command uses the built provider

	authorizations []authorization // the open ones, oldest first
	settlement     string          // id of the last settlement
}

func startScript(env *testscript.Env) error {
	t, ok := env.T().(T)
	if !ok {
		return errors.New("the test is not a *testing.T")
	}
	main, err := os.ReadFile(filepath.Join(env.WorkDir, "main.tf"))
	if err == nil && strings.Contains(string(main), "terraform_data") && !Has("1.4.0", "1.6.0") {
		t.Skip("needs terraform_data, which came with Terraform 1.4")
	}
	prepareCLI()
	clock := new(Clock)
	s := &script{t: t, clock: clock, service: StartOn(t, clock, contract.RequestsOnly()), folder: filepath.Join(env.WorkDir, ".tmp")}
	env.Defer(s.service.Balanced)
	s.net = &network{script: s}
	service := s.service.Proxy(s.net.handle)
	env.Values[scriptKey{}] = s
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		return err
	}
	sockets, err := os.MkdirTemp(socketFolder(), "vcard-")
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(sockets) }) // a provider that was killed leaves its own
	for name, value := range map[string]string{
		socketVariable: sockets, "EXAMPLES": examples, "SERVICE": service.URL, "VCARD_BASE_URL": service.URL, "VCARD_API_KEY": service.Key,
		"TF_CLI_CONFIG_FILE": filepath.Join(s.folder, "cli.tfrc"), "TF_CLI_ARGS": "-no-color", "TF_IN_AUTOMATION": "1", "TF_INPUT": "0",
		"CHECKPOINT_DISABLE": "1", "GOGC": "off", "GOMEMLIMIT": "1GiB",
	} {
		env.Setenv(name, value)
	}
	return os.WriteFile(filepath.Join(env.WorkDir, "required.tf"), []byte(Required), 0o600)
}

func condition(name string) (bool, error) {
	least, isVersion := strings.CutPrefix(name, "version:")
	switch {
	case name == "terraform":
		return !OpenTofu(), nil
	case name == "tofu":
		return OpenTofu(), nil
	case isVersion:
		return Has(least, least), nil
	}
	return false, fmt.Errorf("no condition %q", name)
}

func (s *script) runBuilt(args []string) error {
	s.built = true
	defer func() { s.built = false }()
	return s.terraform(args)
}

// terraform runs the CLI. If there is a strike, it plans first, so that the strike can only hit the apply.
func (s *script) terraform(args []string) error {
	s.net.begin()
	command, flags := args[0], args[1:]
	if command == "destroy" {
		command, flags = "apply", append([]string{"-destroy"}, flags...)
	}
	if planned := len(flags) > 0 && !strings.HasPrefix(flags[len(flags)-1], "-"); command != "apply" || planned {
		return s.run(command == "apply", args)
	}
	if !s.net.hasStrike() {
		return s.run(false, append([]string{"apply", "-auto-approve"}, flags...))
	}
	const plan = "script.tfplan"
	if err := s.run(false, append([]string{"plan", "-out=" + plan}, flags...)); err != nil {
		return err
	}
	return s.run(true, []string{"apply", plan})
}

// run runs the CLI once. Only an apply can have a strike.
func (s *script) run(applies bool, args []string) error {
	var strike string
	var due <-chan struct{}
	if applies {
		strike, due = s.net.strike()
	}
	if strike == "" && !s.built {
		if err := os.WriteFile(filepath.Join(s.folder, "cli.tfrc"), nil, 0o600); err != nil {
			return usageError{err}
		}
		variable, stop := ServeProvider(s.t, provider.WithClock(s.clock), provider.WithEnvironment(s.ts.Getenv))
		defer stop()
		name, value, _ := strings.Cut(variable, "=")
		s.ts.Setenv(name, value)
		return s.execute(args)
	}
	s.ts.Setenv("TF_REATTACH_PROVIDERS", "")
	s.build()
	if strike == "" {
		return s.execute(args)
	}
	ended := make(chan struct{})
	struck := make(chan error, 1)
	go func() { struck <- s.strikes(strike, due, ended) }()
	err := s.execute(args)
	close(ended)
	strikeErr := <-struck
	if strikeErr != nil {
		return usageError{strikeErr}
	}
	return err
}

// execute runs the CLI through testscript and removes the line breaks inside its diagnostics.
func (s *script) execute(args []string) error {
	err := s.ts.Exec(CLI(), args...)
	_, _ = fmt.Fprint(s.ts.Stdout(), unbroken(s.ts.ReadFile("stdout")))
	_, _ = fmt.Fprint(s.ts.Stderr(), unbroken(s.ts.ReadFile("stderr")))
	return err
}

// build makes the CLI run the built provider through a shell script, which writes the process ids of the CLI and the
// provider to a file.
func (s *script) build() {
	const lines = "echo $PPID $$ > '%s'\n[ -z \"$PROVIDER_LOG\" ] || exec 2>>\"$PROVIDER_LOG\"\nexec \"$PROVIDER\" \"$@\""
	work := &Workspace{Dir: s.folder, t: s.t}
	work.Wrapped(fmt.Sprintf(lines, filepath.Join(s.folder, "processes")))
}

// strikes kills or interrupts the CLI or the provider once that is due.
func (s *script) strikes(strike string, due, ended <-chan struct{}) error {
	select {
	case <-ended:
		return errors.New("the command ended before the call that should have ended it")
	case <-due:
	}
	noted, err := os.ReadFile(filepath.Join(s.folder, "processes"))
	if err != nil {
		return err
	}
	var cli, provider int
	if _, err := fmt.Sscan(string(noted), &cli, &provider); err != nil {
		return err
	}
	switch strike {
	case "kill":
		return errors.Join(signal(cli, syscall.SIGKILL), signal(provider, syscall.SIGKILL))
	case "kill-provider":
		return signal(provider, syscall.SIGKILL)
	case "interrupt":
		return signal(cli, syscall.SIGINT)
	}
	for { // like an impatient user
		_ = signal(cli, syscall.SIGINT) // the CLI may have ended just now
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ended:
			return nil
		}
	}
}

func signal(id int, signal os.Signal) error {
	process, err := os.FindProcess(id)
	if err != nil {
		return err
	}
	return process.Signal(signal)
}

// unbroken returns output of the CLI without the line breaks that it inserts into diagnostics
// to fit the width of a terminal.
func unbroken(output string) string {
	const width = 77
	var whole strings.Builder
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		whole.WriteString(line)
		if i == len(lines)-1 {
			break
		}
		next, _, _ := strings.Cut(lines[i+1], " ")
		if line != "" && line[0] != ' ' && next != "" && !ongoing.MatchString(line) && len([]rune(line))+1+len([]rune(next)) > width {
			whole.WriteString(" ")
		} else {
			whole.WriteString("\n")
		}
	}
	return whole.String()
}

// ongoing matches the CLI's progress messages about a resource.
var ongoing = regexp.MustCompile(`: [\w ]+(\.\.\.|after \S+)( \[id=.*\])?$`)

func (s *script) wallet(args []string) error {
	want, err := usd.Parse(args[0])
	if err != nil {
		return usageError{err}
	}
	balance := s.service.Wallet()
	if balance != want {
		return fmt.Errorf("the wallet's balance is %s USD", balance)
	}
	return nil
}

func (s *script) cards(args []string) error {
	live := s.service.LiveCards()
	if strconv.Itoa(len(live)) != args[0] {
		return fmt.Errorf("the live cards are %v", live)
	}
	return nil
}

func (s *script) card(args []string) error {
	card, err := s.called(args[0])
	if err != nil {
		return err
	}
	for _, wanted := range args[1:] {
		field, want, _ := strings.Cut(wanted, "=")
		got := fmt.Sprint(card[field])
		// As amounts, 40 equals 40.00 and also 40.000000000000004, which a service may return.
		var wantAmount, gotAmount usd.Amount
		notMoney := cmp.Or(json.Unmarshal([]byte(want), &wantAmount), json.Unmarshal([]byte(got), &gotAmount))
		if got != want && (notMoney != nil || gotAmount != wantAmount) {
			return fmt.Errorf("%s of the card is %s", field, got)
		}
	}
	return nil
}

func (s *script) cardID(args []string) error {
	id, err := s.id(args[0])
	s.ts.Setenv(args[1], id)
	return err
}

func (s *script) id(card string) (string, error) {
	fields, err := s.called(card)
	return fmt.Sprint(fields["id"]), err
}

// called returns the card with a label or number. A live card takes precedence over terminated ones.
func (s *script) called(name string) (map[string]any, error) {
	all := s.all()
	if number, err := strconv.Atoi(name); err == nil {
		if number < 1 || number > len(all) {
			return nil, usage("%d cards were issued", len(all))
		}
		return all[len(all)-number], nil
	}
	all = slices.DeleteFunc(all, func(card map[string]any) bool { return card["label"] != name })
	live := slices.DeleteFunc(slices.Clone(all), func(card map[string]any) bool { return card["status"] == "terminated" })
	if len(live) == 1 {
		return live[0], nil
	}
	if len(live) == 0 && len(all) > 0 {
		return all[0], nil
	}
	return nil, usage("%d live cards have the label %q", len(live), name)
}

// all returns the cards of the account, newest first.
func (s *script) all() []map[string]any {
	var all []map[string]any
	for number := 1; ; number++ {
		page := s.service.Get(fmt.Sprintf("/cards?per_page=100&page=%d", number)).Must().Data()
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

func (s *script) requests(args []string) error {
	calls, keys := s.net.made(args[0], args[1])
	from, to, isRange := strings.Cut(args[2], "-")
	least, err := strconv.Atoi(from)
	most := least
	if isRange && err == nil {
		most, err = strconv.Atoi(to)
	}
	if err != nil {
		return usageError{err}
	}
	if calls < least || calls > most {
		return fmt.Errorf("%s %s was called %d times", args[0], args[1], calls)
	}
	if len(args) > 3 && args[3] != fmt.Sprintf("keys=%d", keys) {
		return fmt.Errorf("%s %s was called under %d keys", args[0], args[1], keys)
	}
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
