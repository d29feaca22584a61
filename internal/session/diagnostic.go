package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
)

// CatchPanic is deferred where the framework calls in a goroutine of its own, and
// makes a panic a diagnostic.
func CatchPanic(diags *diag.Diagnostics) {
	if reason := recover(); reason != nil {
		diags.AddError("The provider failed", crash.New(reason).Error())
	}
}

// ErrorDiagnostic says what was tried, on what, what the service answered, and what to do.
// Operation completes "Could not …", as in "fund card X". What other calls would meet too
// is told in full once, under its own title, and then without a detail, but for a change
// that may have been made.
func ErrorDiagnostic(operation string, err error) diag.Diagnostic {
	_, undecided := errors.AsType[*transport.UndecidedError](err)
	if outage, ok := errors.AsType[*transport.OutageError](err); ok && !undecided {
		return outageDiagnostic(operation, outage)
	}
	detail := Cause(err)
	if todo := advice(err); todo != "" {
		detail += "\n\n" + todo
	}
	return diag.NewErrorDiagnostic("Could not "+operation, detail)
}

// ErrorOnce returns the diagnostic that describe makes, or nothing if that has no detail and
// another was reported before: that one fails the run already.
func (s *Session) ErrorOnce(describe func() diag.Diagnostic) diag.Diagnostics {
	s.failing.Lock() // otherwise a card could end before the one that reports in full
	defer s.failing.Unlock()
	failure := describe()
	if !s.FirstTime(TopicFailure, "") && failure.Detail() == "" {
		return nil
	}
	return diag.Diagnostics{failure}
}

// outageDiagnostic tells once in full what keeps every call from succeeding.
func outageDiagnostic(operation string, outage *transport.OutageError) diag.Diagnostic {
	what, all, todo := "the service cannot be reached", "Everything else that needs the service", advice(outage.Cause)
	switch outage.Kind {
	case transport.OutageKeyRefused:
		what = "the service does not accept the API key"
	case transport.OutageNotReady:
		what = "the account is not ready for the API"
	case transport.OutageUnavailable:
		what = "the service is not available"
	case transport.OutageEndpoint:
		what, all = "the service fails at calls of this kind", "Every other call of this kind"
	case transport.OutageOtherServer:
		what = "the address in base_url is not the service's"
		if _, answered := errors.AsType[*transport.Error](outage.Cause); !answered {
			todo = "What answers there does not speak like the service. Check base_url or VCARD_BASE_URL: host, port, and the path with its version prefix, as in https://host/api/v1. A proxy or a login page on the way may answer in its place too."
		}
	}
	if !outage.IsFirstReport() {
		return diag.NewErrorDiagnostic("Could not "+operation+": "+what, "")
	}
	return diag.NewErrorDiagnostic(strings.ToUpper(what[:1])+what[1:], "Could not "+operation+": "+Cause(outage.Cause)+"\n\n"+todo+
		"\n\n"+all+" fails for this too. Cards that are only read keep what the state has, and are not named.")
}

// LostResponseWarning says that a call ended well, though a response to it was lost.
// What completes "asked to …", as in "fund card X". Its title is the same for all calls, so
// that Terraform shows one of many.
func LostResponseWarning(what string, lost bool) diag.Diagnostics {
	if !lost {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("A response was lost, and the outcome found out", "When asked to "+what+
		", the service's response was lost on the way, or came too late. The provider then found out whether the call had taken effect before it went on.")}
}

// Cause tells what came back, in the service's words where it spoke last.
func Cause(err error) string {
	refused, ok := errors.AsType[*transport.Error](err)
	_, undecided := errors.AsType[*transport.UndecidedError](err)
	if !ok || undecided { // these tell more than one response
		return sentence(err.Error())
	}
	said := fmt.Sprintf("The service answered %d", refused.Status)
	if refused.Code != "" {
		said += fmt.Sprintf(" (%s)", refused.Code)
	}
	if refused.Message != "" {
		said += ": " + refused.Message
	}
	if refused.Withheld {
		said += "; its message is not shown, since it may hold a secret"
	}
	return sentence(said)
}

func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

func advice(err error) string {
	if undecided, ok := errors.AsType[*transport.UndecidedError](err); ok {
		return adviceForUndecided(undecided)
	}
	if _, stopped := errors.AsType[*transfer.StoppedError](err); stopped {
		return "" // the caller knows what it was for
	}
	if errors.Is(err, api.ErrLabelUndecided) {
		return "Follow the other error first: it says how to find out whether its card was issued. Then apply again."
	}
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		return adviceForResponse(refused)
	}
	if _, ok := errors.AsType[*transport.ShapeError](err); ok {
		return "The service answered, but not as its document describes, which trying again does not change. Check that base_url is the service's own; if it is, report the field to the service's support."
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "The run was interrupted. Nothing more was sent."
	case errors.Is(err, context.DeadlineExceeded):
		return "The service took longer than request_timeout. Try again, or raise request_timeout in the provider configuration."
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(record.RecordHeader[:]) == "HTTP/" {
		return "What answers there speaks plain http, and base_url has https. Check its port; a sandbox is at http://."
	}
	if _, ok := errors.AsType[*transport.ProxyError](err); ok {
		return "The proxy is the one that HTTPS_PROXY names in the environment. Check it, or add the service's host to NO_PROXY to go there without it."
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return "Check the host in base_url: its name is not known here."
	}
	if refused, ok := errors.AsType[*net.OpError](err); ok && refused.Op == "dial" {
		if at, ok := refused.Addr.(*net.TCPAddr); ok && at.IP.IsLoopback() {
			return "Nothing listens there. Start the sandbox (vcard sandbox), or set base_url to the address that it printed."
		}
	}
	return "Check base_url and the network between this machine and the service, then try again."
}

func adviceForUndecided(e *transport.UndecidedError) string {
	todo := "Run terraform plan: it reads the card's state, and plans again what is still missing."
	switch e.Kind {
	case transport.MutationIssue:
		todo = "A card may have been issued and paid. Look for a new card on that BIN in the dashboard before you issue it again. To keep it, import it: terraform import ADDRESS ID."
		if e.Answered {
			todo = "The service accepted the request, so the card may still appear. Do not apply again before you have looked for it: in the dashboard, or with vcard statement --no-unmanaged. To keep it, import it: terraform import ADDRESS ID."
		}
		if len(e.Candidates) > 0 {
			todo = "" // the caller lists them
		}
	case transport.MutationMove:
		todo = "Money may or may not have moved. Where the card is managed by Terraform, run terraform plan and apply again: before any further money moves, it is found out whether this did, and it is not made twice. " +
			"Otherwise look at the card in the dashboard before you repeat the movement."
	case transport.MutationRegister:
		todo = "The endpoint may exist. Look for it in the dashboard, and remove it there before you register it again."
	}
	if refused, ok := errors.AsType[*transport.Error](e.Err); ok && refused.Code == "" && refused.Status < 500 {
		return strings.TrimSpace("This is not how the service answers: a gateway or another server answered in its place, and may have hidden what was done. " + todo)
	}
	return todo
}

const readiness = "An account is ready for the API after three steps: the owner confirms the e-mail address, " +
	"makes a first deposit, and asks support to switch API access on."

// onboardingAdvice says which step is next, as far as the service's message tells.
func onboardingAdvice(message string) string {
	message = strings.ToLower(message)
	mail, deposit := strings.Contains(message, "mail"), strings.Contains(message, "deposit")
	switch {
	case mail && !deposit:
		return readiness + " The first step is next: confirm the e-mail address in the dashboard."
	case deposit && !mail:
		return readiness + " The second step is next: make a first deposit. The dashboard shows the addresses; the API does not yet."
	}
	return readiness + " The first or the second step is still to be done."
}

func adviceForResponse(refused *transport.Error) string {
	switch refused.Code {
	case "onboarding_incomplete":
		return onboardingAdvice(refused.Message)
	case "api_not_enabled":
		return readiness + " The third step is still to be done: ask the service's support."
	case "card_terminated":
		return "The card was terminated meanwhile, which is final. Run terraform plan again: the refresh removes it from the state, and the next apply issues a new card if it is still in the configuration."
	case "bin_not_found":
		return "The data source vcard_bins lists the BINs that this account can issue on."
	case "idempotency_key_reused":
		return "The service has seen this call's idempotency key with another content. Run the command again; a new key is used then."
	}
	switch status := refused.Status; {
	case status == http.StatusUnauthorized:
		return "Check api_key in the provider configuration or VCARD_API_KEY: keys begin with sk_live_, are made in the dashboard under API access, and belong to the service at base_url."
	case status == http.StatusForbidden:
		return readiness
	case refused.LacksFunds() && strings.HasSuffix(refused.Path, "/withdraw"):
		return "The card holds less than that; it may have been spent meanwhile. Run terraform plan again to see its balance now."
	case refused.LacksFunds():
		return "The wallet cannot pay for this. Deposit first (the data source vcard_deposit_addresses lists where), or use a smaller amount."
	case (status == http.StatusNotFound || status == http.StatusGone) && refused.Code == "":
		return "This is not how the service says that something is missing: a gateway or another server answered in its place, so nothing is known to be gone. Check base_url, and try again."
	case status == http.StatusNotFound || status == http.StatusGone:
		if slices.Contains([]string{"/wallet/balance", "/wallet/deposit-address", "/bins", "/3ds"}, refused.Path) {
			return "Every account has this, so something else may be at base_url. Check its host and path, with the version prefix, as in https://host/api/v1."
		}
		return "Either the id is wrong, or the API key belongs to another account."
	case status == http.StatusConflict:
		return "Something else may be changing the same object at this moment. Try again; if it stays like this, look at the object in the dashboard."
	case status == http.StatusTooManyRequests:
		wait := "Wait a minute"
		if !refused.RetryAt.IsZero() {
			wait = "Wait until " + refused.RetryAt.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		return "Other users of this API key leave too few requests for this run. " + wait + " and try again, or give each pipeline a share with rate_limits in the provider configuration."
	case status >= 300 && status < 400:
		return "Redirects are not followed, because they would carry the API key elsewhere. Set base_url to the service's own address."
	case status == http.StatusServiceUnavailable:
		return "The service is not available at the moment. Wait a few minutes and try again."
	case status >= 500:
		return "The service failed, or a gateway in front of it did; nothing in the configuration is known to be wrong. Try again later, and ask the service's support if it stays like this."
	case refused.Withheld && refused.Path == "/webhooks":
		return "Check url, events, and secret or secret_wo: the service does not take one of them."
	case refused.Withheld && refused.Path == "/3ds":
		return "Check status, which is the only filter that the service is asked for: it may not know this one."
	}
	return ""
}
