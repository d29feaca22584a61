package doctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"go.yaml.in/yaml/v3"
)

// Check returns what is wrong with the blocks of a page as they stand, each
// problem with its line. The shells are those that shell blocks are read by.
func (p Page) Check(ctx context.Context, shells ...string) error {
	problems := slices.Clone(p.problems)
	guarded := false // by a block before
	for _, b := range p.Blocks {
		guarded = guarded || b.isShell() && guard.MatchString(b.Text)
		err := b.check(ctx, shells)
		if err == nil && b.isShell() && !guarded && pipes(b.Text) {
			err = errUnguarded
		}
		if err != nil {
			problems = append(problems, p.errorAt(b.Line, "%w", err))
		}
	}
	return errors.Join(problems...)
}

func (b Block) check(ctx context.Context, shells []string) error {
	if b.File != "" && !filepath.IsLocal(b.File) {
		return fmt.Errorf("%s is not in the page's folder", b.File)
	}
	switch b.Language {
	case "terraform", "hcl":
		return checkHCL(b.Text)
	case "sh":
		if line := comment(b.Text); line != "" {
			return fmt.Errorf("who pastes %q into zsh gives the comment to the command: write it before the block", line)
		}
		return checkShell(ctx, b.Text, shells)
	case "shell": // a script among the examples
		return checkShell(ctx, b.Text, shells)
	case "yaml":
		return checkYAML(ctx, b.Text)
	case "json":
		var value any
		return json.Unmarshal([]byte(b.Text), &value)
	case "go":
		_, err := parser.ParseFile(token.NewFileSet(), b.File, b.Text, 0)
		return err
	case "python", "javascript":
		if b.File == "" {
			return errors.New("names no file in its first line, and so nothing runs it")
		}
		return nil
	case "text":
		return nil
	default:
		return fmt.Errorf("the language is %q; write text for what is neither run nor read by a test", b.Language)
	}
}

func checkHCL(text string) error {
	if _, diags := hclsyntax.ParseConfig([]byte(text), "", hcl.InitialPos); diags.HasErrors() {
		return diags
	}
	if formatted := string(hclwrite.Format([]byte(text))); formatted != text {
		return fmt.Errorf("is not in the form of terraform fmt:\n%s", formatted)
	}
	return nil
}

var (
	quoted       = regexp.MustCompile(`'[^']*'|"(?:\\.|[^"\\])*"`)
	commentSign  = regexp.MustCompile(`(^|\s)#`)
	hereDocument = regexp.MustCompile(`<<-?['"]?(\w+)`)
)

var (
	guard        = regexp.MustCompile(`set .*-[a-z]*o pipefail`)
	githubsGuard = regexp.MustCompile(`shell: bash\b`) // which has it set, unlike what is there by default
	singleQuoted = regexp.MustCompile(`'[^']*'`)
	errUnguarded = errors.New("a pipe ends well where what feeds it failed: write set -o pipefail before")
)

// pipes reports whether a command is fed by another.
func pipes(text string) bool {
	return strings.Contains(strings.ReplaceAll(singleQuoted.ReplaceAllString(text, ""), "||", ""), "|")
}

// comment returns the first line with a comment that is not in a here-document.
func comment(text string) string {
	end := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch opened := hereDocument.FindStringSubmatch(line); {
		case end != "":
			if line == end {
				end = ""
			}
		case commentSign.MatchString(quoted.ReplaceAllString(line, "")):
			return line
		case opened != nil:
			end = opened[1]
		}
	}
	return ""
}

func checkShell(ctx context.Context, text string, shells []string) error {
	for _, shell := range shells {
		if output, err := exec.CommandContext(ctx, shell, "-n", "-c", text).CombinedOutput(); err != nil {
			return fmt.Errorf("%s does not understand it: %w\n%s", shell, err, output)
		}
	}
	return nil
}

// checkYAML also checks the commands of a pipeline's steps, which runners give to bash.
func checkYAML(ctx context.Context, text string) error {
	var document any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return err
	}
	for _, command := range commands(document, false) {
		if err := checkShell(ctx, command, []string{"bash"}); err != nil {
			return fmt.Errorf("%q: %w", command, err)
		}
		if pipes(command) && !guard.MatchString(command) && !githubsGuard.MatchString(text) {
			return fmt.Errorf("%q: %w", command, errUnguarded)
		}
	}
	return nil
}

// commands returns the texts below the keys that hold commands on GitHub and GitLab,
// where one shell runs all of a list.
func commands(node any, isCommand bool) []string {
	var all []string
	switch n := node.(type) {
	case string:
		if isCommand {
			return []string{n}
		}
	case []any:
		for _, item := range n {
			all = append(all, commands(item, isCommand)...)
		}
		if isCommand {
			all = []string{strings.Join(all, "\n")}
		}
	case map[string]any:
		for key, value := range n {
			all = append(all, commands(value, key == "run" || key == "script" || strings.HasSuffix(key, "_script"))...)
		}
	}
	return all
}
