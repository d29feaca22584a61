package statement

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Exit codes of Main.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

const usage = `Usage: vcard statement [flags] PLAN.json

Says what a plan does to the wallet. PLAN.json is what "terraform show -json" or
"tofu show -json" prints of it; - reads it from standard input. It needs neither
a key nor the network.

  -format text       or markdown, for a pull request, or json, for policies

Rules, which end with the status 3 and a reason when the plan breaks them:

  -max-net 500       what the wallet may pay, in USD
  -max-card 200      what one card may get, in USD
  -only top_up,...   what may be done: %s
  -no-unknown        nothing may be left to find out during apply
  -no-unmanaged      no live card that is not in this state may have the label of
                     one of its cards, or a generated one of its label_prefix;
                     needs an unfiltered data "vcard_cards"

Statuses: 0 for a statement, 1 when the input is not a plan, 2 for wrong flags,
3 for a plan that breaks a rule.
`

type settings struct {
	format string
	rules  Rules
	file   string
}

// Main prints the statement of a plan, by the arguments of the sub-command, and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	complain := func(format string, args ...any) {
		_, _ = fmt.Fprintln(stderr, inline("statement: "+fmt.Sprintf(format, args...)))
	}
	s, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprintf(stdout, usage, join(actions()))
		return exitOK
	case err != nil:
		complain("%v. Run with -help for the flags.", err)
		return exitUsage
	}
	plan, err := s.read(stdin)
	if err != nil {
		complain("%s %v", s.file, err)
		return exitFailed
	}
	statement, err := Of(plan)
	if err != nil {
		complain("%s: %v", s.file, err)
		return exitFailed
	}
	code := exitOK
	s.rules.Apply(statement, plan)
	if err := statement.write(stdout, s.format); err != nil {
		complain("%s: %v", s.file, err)
		code = exitFailed
	} else if len(statement.Violations) > 0 {
		code = exitRefused
	}
	for i, violation := range statement.Violations {
		if i == mostBullets {
			complain("refused: and for %d reasons more, which -format json lists", len(statement.Violations)-i)
			break
		}
		complain("refused: %s", violation)
	}
	if statement.Remedy != "" {
		_, _ = fmt.Fprint(stderr, "statement: ", printable(statement.Remedy))
	}
	return code
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("statement", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.format, "format", "text", "")
	flags.BoolVar(&s.rules.NoUnknown, "no-unknown", false, "")
	flags.BoolVar(&s.rules.NoUnmanaged, "no-unmanaged", false, "")
	flags.Func("max-net", "", atMost(&s.rules.MaxNet))
	flags.Func("max-card", "", atMost(&s.rules.MaxCard))
	flags.Func("only", "", func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if !slices.Contains(actions(), Action(word)) {
				return fmt.Errorf("the words are %s", join(actions()))
			}
			s.rules.Only = append(s.rules.Only, Action(word))
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.file = flags.Arg(0)
	switch {
	case !slices.Contains([]string{"text", "markdown", "json"}, s.format):
		return s, fmt.Errorf("-format %q: want text, markdown or json", s.format)
	case flags.NArg() != 1:
		return s, fmt.Errorf("want one PLAN.json after the flags, got %d", flags.NArg())
	}
	return s, nil
}

func atMost(into **usd.Amount) func(string) error {
	return func(text string) error {
		amount, err := usd.Parse(text)
		if err != nil || amount < 0 {
			return errors.New("want USD with at most two decimals, not negative")
		}
		*into = &amount
		return nil
	}
}

func (s *settings) read(stdin io.Reader) (*Plan, error) {
	if s.file == "-" {
		s.file = "standard input"
		return ReadPlan(stdin)
	}
	file, err := os.Open(s.file)
	if err != nil {
		return nil, fmt.Errorf("cannot be opened: %w", errors.Unwrap(err))
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err := file.Stat(); err == nil && info.Size() > maxSize {
		return nil, errLarge
	}
	return ReadPlan(file)
}

func (s *Statement) write(w io.Writer, format string) error {
	switch format {
	case "json":
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, escaped(string(text))+"\n")
		return err
	case "markdown":
		return s.WriteMarkdown(w)
	}
	return s.WriteText(w)
}
