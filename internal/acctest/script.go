package acctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Scripts runs the scripts of a folder, each with its own sandbox. CONTRIBUTING.md lists the commands that they can
// use in addition to those of testscript. A setting NAME=VALUE is an environment variable of all scripts, and its value
// is also a condition.
func Scripts(t *testing.T, folder string, settings ...string) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" || CLI() == "" {
		t.Skip("needs TF_ACC and Terraform or OpenTofu")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 folder,
		Cmds:                commands(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, settings...)
			return startScript(env)
		},
		Condition: func(name string) (bool, error) {
			isValue := slices.ContainsFunc(settings, func(setting string) bool { return strings.HasSuffix(setting, "="+name) })
			if isValue {
				return true, nil
			}
			if isCondition(name) || len(settings) == 0 {
				return condition(name)
			}
			return false, nil // a value that other runs of the scripts have
		},
	})
}

// command is a command of scripts.
type command struct {
	usage            string
	minArgs, maxArgs int
	run              func(s *script, args []string) error
}

// commands returns the functions that testscript calls for commands.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, command := range map[string]command{
		"terraform": {"ARGS…", 1, anyNumber, (*script).terraform},
		"built":     {"ARGS…", 1, anyNumber, (*script).terraformBuilt},
		"vcard":     {"ARGS…", 0, anyNumber, (*script).vcard},
		"service":   {"VERB ARGS…", 1, anyNumber, (*script).runVerb},
		"wallet":    {"AMOUNT", 1, 1, (*script).wallet},
		"cards":     {"NUMBER", 1, 1, (*script).cards},
		"card":      {"CARD FIELD=VALUE…", 2, anyNumber, (*script).card},
		"cardid":    {"CARD NAME", 2, 2, (*script).cardID},
		"requests":  {"METHOD PATH NUMBER[-NUMBER] [keys=NUMBER]", 3, 4, (*script).requests},
	} {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) < command.minArgs || len(args) > command.maxArgs {
				ts.Fatalf("usage: %s %s", name, command.usage)
			}
			s, _ := ts.Value(scriptKey{}).(*script)
			s.ts = ts
			err := command.run(s, args)
			if err == nil && neg {
				ts.Fatalf("it should have failed")
			}
			misused := errors.As(err, new(usageError))
			if err != nil && (!neg || misused) {
				ts.Fatalf("%v", err)
			}
		}
	}
	return all
}

func (s *script) vcard(args []string) error { return s.ts.Exec(sandboxtest.Vcard(s.t), args...) }

// isCondition reports whether condition knows a name.
func isCondition(name string) bool {
	return name == "terraform" || name == "tofu" || strings.Contains(name, ":")
}

// condition reports whether the CLI is "terraform", "tofu" or at least a version, as in "version:1.14.0".
func condition(name string) (bool, error) {
	if name == "terraform" {
		return !OpenTofu(), nil
	}
	if name == "tofu" {
		return OpenTofu(), nil
	}
	minimum, isVersion := strings.CutPrefix(name, "version:")
	if isVersion {
		return Has(minimum, minimum), nil
	}
	return false, fmt.Errorf("no condition %q", name)
}

// T is the test of a script, or a *testing.T.
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
	built   bool   // whether the current command uses the built provider

	authorizations []authorization // those that are not settled, oldest first
	settlement     string          // the id of the last settlement
}

// readConfiguration returns the text of all configurations in a folder and below.
func readConfiguration(folder string) (string, error) {
	var text strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".tf") {
			return err
		}
		file, err := os.ReadFile(path) //nolint:gosec // of the test's own folder
		text.WriteString("\n" + string(file))
		return err
	})
	return text.String(), err
}

func startScript(env *testscript.Env) error {
	t, ok := env.T().(T)
	if !ok {
		return errors.New("the test is not a *testing.T")
	}
	configuration, err := readConfiguration(env.WorkDir)
	if err != nil {
		return err
	}
	if strings.Contains(configuration, "terraform_data") && !Has("1.4.0", "1.6.0") {
		t.Skip("needs terraform_data, which Terraform has since 1.4")
	}
	if strings.Contains(configuration, "\nimport {\n") && !Has("1.5.0", "1.6.0") {
		t.Skip("needs import blocks, which Terraform has since 1.5")
	}
	prepareCLI()
	clock := new(Clock)
	s := &script{
		t:       t,
		clock:   clock,
		service: StartOn(t, clock, contract.RequestsOnly()),
		folder:  filepath.Join(env.WorkDir, ".tmp"),
	}
	env.Defer(s.service.Balanced)
	s.net = &network{script: s, reads: map[string]*http.Request{}}
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
	env.Defer(func() { _ = os.RemoveAll(sockets) }) // a killed provider does not remove its socket
	env.Setenv(socketVariable, sockets)
	env.Setenv("EXAMPLES", examples)
	env.Setenv("SERVICE", service.URL)
	env.Setenv("VCARD_BASE_URL", service.URL)
	env.Setenv("VCARD_API_KEY", service.Key)
	env.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(s.folder, "cli.tfrc"))
	env.Setenv("TF_CLI_ARGS", "-no-color")
	env.Setenv("TF_IN_AUTOMATION", "1")
	env.Setenv("TF_INPUT", "0")
	env.Setenv("CHECKPOINT_DISABLE", "1")
	env.Setenv("GOGC", "off")
	env.Setenv("GOMEMLIMIT", "1GiB")
	return os.WriteFile(filepath.Join(env.WorkDir, "required.tf"), []byte(Required), 0o600)
}

// terraformBuilt is like terraform, but with the built provider.
func (s *script) terraformBuilt(args []string) error {
	s.built = true
	defer func() { s.built = false }()
	return s.terraform(args)
}

// terraform runs the CLI. An apply without a saved plan needs no approval. If the apply has a strike, terraform plans
// first, so that the strike can only hit the apply.
func (s *script) terraform(args []string) error {
	s.net.begin()
	command := args[0]
	flags := args[1:]
	if command != "apply" && command != "destroy" {
		return s.run(false, args)
	}
	hasPlan := len(flags) > 0 && !strings.HasPrefix(flags[len(flags)-1], "-")
	if hasPlan {
		return s.run(true, args)
	}
	if command == "destroy" {
		flags = append([]string{"-destroy"}, flags...)
	}
	if !s.net.hasStrike() {
		return s.run(false, append([]string{"apply", "-auto-approve"}, flags...))
	}
	const plan = "script.tfplan"
	err := s.run(false, append([]string{"plan", "-out=" + plan}, flags...))
	if err != nil {
		return err
	}
	return s.run(true, []string{"apply", plan})
}

// run runs the CLI once. Only an apply can have a strike.
func (s *script) run(applies bool, args []string) error {
	var strike string
	var due <-chan struct{}
	if applies {
		strike, due = s.net.beginApply()
	}
	if strike == "" && !s.built {
		err := os.WriteFile(filepath.Join(s.folder, "cli.tfrc"), nil, 0o600)
		if err != nil {
			return usageError{err}
		}
		variable, stop := ServeProvider(s.t, provider.WithClock(s.clock), provider.WithEnvironment(s.ts.Getenv))
		defer stop()
		name, value, _ := strings.Cut(variable, "=")
		s.ts.Setenv(name, value)
		return s.execute(args)
	}
	s.ts.Setenv("TF_REATTACH_PROVIDERS", "")
	s.installBuilt()
	if strike == "" {
		return s.execute(args)
	}
	ended := make(chan struct{})
	strikeErrs := make(chan error, 1)
	go func() { strikeErrs <- s.strike(strike, due, ended) }()
	err := s.execute(args)
	close(ended)
	strikeErr := <-strikeErrs
	if strikeErr != nil {
		return usageError{strikeErr}
	}
	return err
}

// execute runs the CLI through testscript and removes the line breaks inside its diagnostics.
func (s *script) execute(args []string) error {
	err := s.ts.Exec(CLI(), args...)
	_, _ = fmt.Fprint(s.ts.Stdout(), unwrapped(s.ts.ReadFile("stdout")))
	_, _ = fmt.Fprint(s.ts.Stderr(), unwrapped(s.ts.ReadFile("stderr")))
	return err
}

// installBuilt makes the CLI run the built provider through a shell script, which writes the process ids of the CLI and
// the provider to a file.
func (s *script) installBuilt() {
	const lines = "echo $PPID $$ > '%s'\n[ -z \"$PROVIDER_LOG\" ] || exec 2>>\"$PROVIDER_LOG\"\nexec \"$PROVIDER\" \"$@\""
	work := &Workspace{Dir: s.folder, t: s.t}
	work.Wrapped(fmt.Sprintf(lines, filepath.Join(s.folder, "processes")))
}

// strike kills or interrupts the CLI or the provider as soon as the strike is due.
func (s *script) strike(verb string, due, ended <-chan struct{}) error {
	select {
	case <-ended:
		return errors.New("the command ended before the strike was due")
	case <-due:
	}
	ids, err := os.ReadFile(filepath.Join(s.folder, "processes"))
	if err != nil {
		return err
	}
	var cli, provider int
	_, err = fmt.Sscan(string(ids), &cli, &provider)
	if err != nil {
		return err
	}
	switch verb {
	case "kill":
		return errors.Join(signal(cli, syscall.SIGKILL), signal(provider, syscall.SIGKILL))
	case "kill-provider":
		return signal(provider, syscall.SIGKILL)
	case "interrupt":
		return signal(cli, syscall.SIGINT)
	}
	for { // "cancel", like an impatient user
		_ = signal(cli, syscall.SIGINT) // fails if the CLI has just ended
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

// unwrapped returns output of the CLI without the line breaks that the CLI inserts into diagnostics to fit the width of
// a terminal.
func unwrapped(output string) string {
	var text strings.Builder
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		text.WriteString(line)
		if i == len(lines)-1 {
			break
		}
		if isWrapped(line, lines[i+1]) {
			text.WriteString(" ")
		} else {
			text.WriteString("\n")
		}
	}
	return text.String()
}

// isWrapped reports whether the CLI has broken a line because the first word of the next line did not fit.
func isWrapped(line, next string) bool {
	const width = 77
	if line == "" || strings.HasPrefix(line, " ") || progress.MatchString(line) {
		return false
	}
	word, _, _ := strings.Cut(next, " ")
	return word != "" && utf8.RuneCountInString(line+" "+word) > width
}

// progress matches the CLI's progress messages about a resource.
var progress = regexp.MustCompile(`: [\w ]+(\.\.\.|after \S+)( \[id=.*\])?$`)

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
	card, err := s.find(args[0])
	if err != nil {
		return err
	}
	for _, arg := range args[1:] {
		field, want, _ := strings.Cut(arg, "=")
		got := fmt.Sprint(card[field])
		if got != want && !isSameAmount(got, want) {
			return fmt.Errorf("%s of the card is %s", field, got)
		}
	}
	return nil
}

// isSameAmount reports whether two texts are the same amount in USD: 40 equals 40.00 and also 40.000000000000004, which
// a service may return.
func isSameAmount(got, want string) bool {
	var gotAmount, wantAmount usd.Amount
	err := errors.Join(json.Unmarshal([]byte(got), &gotAmount), json.Unmarshal([]byte(want), &wantAmount))
	return err == nil && gotAmount == wantAmount
}

func (s *script) cardID(args []string) error {
	id, err := s.id(args[0])
	s.ts.Setenv(args[1], id)
	return err
}

func (s *script) id(card string) (string, error) {
	fields, err := s.find(card)
	return fmt.Sprint(fields["id"]), err
}

// find returns the card with a label or number. A live card takes precedence over terminated ones.
func (s *script) find(name string) (map[string]any, error) {
	cards := s.allCards()
	number, err := strconv.Atoi(name)
	if err == nil {
		if number < 1 || number > len(cards) {
			return nil, usage("%d cards were issued", len(cards))
		}
		return cards[len(cards)-number], nil
	}
	cards = slices.DeleteFunc(cards, func(card map[string]any) bool { return card["label"] != name })
	live := slices.DeleteFunc(slices.Clone(cards), func(card map[string]any) bool { return card["status"] == "terminated" })
	if len(live) == 1 {
		return live[0], nil
	}
	if len(live) == 0 && len(cards) > 0 {
		return cards[0], nil
	}
	return nil, usage("%d live cards have the label %q", len(live), name)
}

// allCards returns the cards of the account, newest first.
func (s *script) allCards() []map[string]any {
	var cards []map[string]any
	for number := 1; ; number++ {
		page := s.service.Get(fmt.Sprintf("/cards?per_page=100&page=%d", number)).Must().Data()
		if len(page) == 0 {
			return cards
		}
		cards = append(cards, page...)
	}
}

func (s *script) requests(args []string) error {
	calls, keys := s.net.countCalls(args[0], args[1])
	from, to, isRange := strings.Cut(args[2], "-")
	if !isRange {
		to = from
	}
	minimum, err := strconv.Atoi(from)
	if err != nil {
		return usageError{err}
	}
	maximum, err := strconv.Atoi(to)
	if err != nil {
		return usageError{err}
	}
	if calls < minimum || calls > maximum {
		return fmt.Errorf("%s %s was called %d times", args[0], args[1], calls)
	}
	if len(args) > 3 && args[3] != fmt.Sprintf("keys=%d", keys) {
		return fmt.Errorf("%s %s was called with %d keys", args[0], args[1], keys)
	}
	return nil
}

func (s *script) quirk(_ options, args []string) error {
	s.service.AddQuirks(jsonFields(args[1:]))
	return nil
}

func (s *script) advanceClock(_ options, args []string) error {
	duration, err := s.durationOf(args[1])
	if err != nil {
		return usageError{err}
	}
	return s.clock.Wait(s.t.Context(), duration)
}

// durationOf parses a duration, or a time of the service's clock as the duration until then.
func (s *script) durationOf(text string) (time.Duration, error) {
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.ParseDuration(text)
	}
	now, err := time.Parse(time.RFC3339, s.net.clock().Text("now"))
	return until.Sub(now), err
}
