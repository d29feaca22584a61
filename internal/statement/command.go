package statement

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vcard/terraform-provider-vcard/internal/cli"
	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

const help = `Show what a Terraform or OpenTofu plan does to the wallet.

Usage:
  vcard statement [flags] PLAN.json

The plan is the output of "terraform show -json" or "tofu show -json"; - reads it from
standard input. No API key and no network are needed.

Examples:
  terraform plan -out=plan && terraform show -json plan | vcard statement -
  vcard statement --format markdown plan.json > comment.md
  vcard statement --only top_up --max-net 500 --no-unknown plan.json

Flags:
%s
ACTION is one of %s.

Exit status:
  0  the plan keeps all rules
  1  the plan cannot be read, or the statement cannot be written
  2  invalid flags or arguments
  3  the plan breaks a rule; standard error says which
`

const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatJSON     = "json"
)

type settings struct {
	format string
	rules  Rules
	file   string // the path of the plan, or fromStdin
}

// fromStdin stands for standard input instead of a file.
const fromStdin = "-"

// Main prints the statement of a plan and returns the exit status. args follow the name of the command.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	report := func(format string, a ...any) {
		message := fmt.Sprintf(format, a...)
		_, _ = fmt.Fprintln(stderr, sanitizeLine("statement: "+message))
	}
	var s settings
	flags := s.flags()
	err := s.parse(flags, args)
	if errors.Is(err, pflag.ErrHelp) {
		_, _ = fmt.Fprintf(stdout, help, flags.FlagUsages(), joinWords(actions(), ", "))
		return exitOK
	}
	if err != nil {
		report("%v. Run \"vcard statement --help\" for usage.", err)
		return exitUsage
	}
	name := s.fileName()
	plan, err := s.readInput(stdin)
	if err != nil {
		// The error completes a sentence that starts with the file's name, as in "plan.json is empty".
		report("%s %v", name, err)
		return exitFailed
	}
	statement, err := New(plan)
	if err != nil {
		report("%s: %v", name, err)
		return exitFailed
	}
	s.rules.Apply(statement, plan) // sets the Violations and the Remedy
	writeErr := statement.write(stdout, s.format)
	if writeErr != nil {
		report("cannot write the statement: %v", writeErr)
	}
	// The violations go to standard error, which may work even if standard output has failed.
	for i, violation := range statement.Violations {
		if i == maxListed {
			report("refused: and %d more; --format json lists all", len(statement.Violations)-i)
			break
		}
		report("refused: %s", violation)
	}
	if statement.Remedy != "" {
		_, _ = fmt.Fprint(stderr, "statement: ", display.Printable(statement.Remedy))
	}
	if writeErr != nil {
		return exitFailed
	}
	if len(statement.Violations) > 0 {
		return exitRefused
	}
	return exitOK
}

func (s *settings) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("statement", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {} // Main prints the help and the errors
	flags.StringVar(&s.format, "format", formatText,
		"`FORMAT` of the statement: text, markdown for a pull request, or json for policies")
	flags.Func("max-net", "refuse a plan that may take more `USD` than this from the wallet", amountSetter(&s.rules.MaxNet))
	flags.Func("max-card", "refuse a plan that may load more `USD` than this onto one card", amountSetter(&s.rules.MaxCard))
	flags.Func("only", "refuse a plan that does anything except `ACTION`; separate several with commas", s.addActions)
	flags.BoolVar(&s.rules.NoUnknown, "no-unknown", false,
		"refuse a plan with values that are known only during apply, or cards where apply may stop")
	flags.BoolVar(&s.rules.NoUnmanaged, "no-unmanaged", false,
		"refuse a plan if a live card outside this state has the label of a planned card, or a generated\n"+
			"label with the provider's label_prefix; needs a data \"vcard_cards\" without filters")
	return flags
}

// parse sets the settings from the arguments. It returns pflag.ErrHelp if they ask for help.
func (s *settings) parse(flags *pflag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err != nil {
		const exampleFlag = "--format json"
		return cli.ExplainSingleDash(err, exampleFlag)
	}
	if !slices.Contains([]string{formatText, formatMarkdown, formatJSON}, s.format) {
		return fmt.Errorf("--format %q: must be text, markdown or json", s.format)
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("expected one PLAN.json, got %d", flags.NArg())
	}
	s.file = flags.Arg(0)
	return nil
}

func (s *settings) addActions(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		if !slices.Contains(actions(), Action(word)) {
			return fmt.Errorf("must be one or more of %s", joinWords(actions(), ","))
		}
		s.rules.Only = append(s.rules.Only, Action(word))
	}
	return nil
}

// amountSetter returns a function that parses the value of a flag and stores it in target.
func amountSetter(target **usd.Amount) func(string) error {
	return func(text string) error {
		amount, err := usd.Parse(text)
		if err != nil || amount < 0 {
			return errors.New("must be an amount in USD, 0 or more, with at most two decimals")
		}
		*target = &amount
		return nil
	}
}

// fileName returns the name of the plan's file for messages.
func (s *settings) fileName() string {
	if s.file == fromStdin {
		return "standard input"
	}
	return s.file
}

// readInput reads the plan from the file or from standard input.
func (s *settings) readInput(stdin io.Reader) (*Plan, error) {
	if s.file == fromStdin {
		return ReadPlan(stdin)
	}
	file, err := os.Open(s.file)
	if err != nil {
		return nil, fmt.Errorf("cannot be opened: %w", errors.Unwrap(err)) // without the file's name
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Size() > maxSize {
		return nil, errLarge
	}
	return ReadPlan(file)
}

func (s *Statement) write(w io.Writer, format string) error {
	switch format {
	case formatJSON:
		encoded, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		text := escapeUnprintable(string(encoded))
		_, err = io.WriteString(w, text+"\n")
		return err
	case formatMarkdown:
		return s.WriteMarkdown(w)
	default:
		return s.WriteText(w)
	}
}
