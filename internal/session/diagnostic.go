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
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
)

// CatchPanic turns a panic into a diagnostic. Defer it in functions that run in a goroutine of their own, where the
// protocol server cannot catch the panic.
func CatchPanic(diags *diag.Diagnostics) {
	if reason := recover(); reason != nil {
		diags.AddError("Internal provider error", DescribePanic(crash.New(reason)))
	}
}

// DescribePanic returns the detail of the diagnostic for a call that panicked. For an error other than a *crash.Error,
// it returns the text of the error as a sentence.
func DescribePanic(err error) string {
	failure, ok := errors.AsType[*crash.Error](err)
	if !ok {
		return sentence(err.Error())
	}
	return "A bug in the vcard provider stopped the operation (panic of type " + failure.Type + "). " +
		"A request may already have taken effect: check the dashboard before you run this again. " +
		"Please report the bug with these lines:\n" + failure.Stack
}

// ErrorDiagnostic describes a failed operation: what was tried, what the service returned, and what to do. The
// operation completes "Could not …", as in "fund card X". An outage, which affects other calls too, is reported in
// full once, under its own title, and after that without a detail. An error with an *UndecidedError is reported in
// full, because its idempotency key and its advice are about this request alone.
func ErrorDiagnostic(operation string, err error) diag.Diagnostic {
	_, isUndecided := errors.AsType[*transport.UndecidedError](err)
	outage, isOutage := errors.AsType[*transport.OutageError](err)
	if isOutage && !isUndecided {
		return outageDiagnostic(operation, outage)
	}
	detail := Cause(err)
	todo := advice(err)
	if todo != "" {
		detail += "\n\n" + todo
	}
	return diag.NewErrorDiagnostic("Could not "+operation, detail)
}

// ErrorOnce returns the diagnostic that describe makes. It returns nil if the diagnostic has no detail and ErrorOnce
// has returned an earlier one, because the earlier one already fails the run.
func (s *Session) ErrorOnce(describe func() diag.Diagnostic) diag.Diagnostics {
	s.errorLock.Lock() // so that the diagnostic with a detail is the first
	defer s.errorLock.Unlock()
	failure := describe()
	isFirst := s.FirstTime(TopicFailure, "")
	if !isFirst && failure.Detail() == "" {
		return nil
	}
	return diag.Diagnostics{failure}
}

// outageDiagnostic reports a failure that affects other calls too: once in full, and after that without a detail.
func outageDiagnostic(operation string, outage *transport.OutageError) diag.Diagnostic {
	reason := outageReason(outage.Kind)
	if !outage.ClaimFirstReport() {
		return diag.NewErrorDiagnostic("Could not "+operation+": "+reason, "")
	}
	others := "Other requests to the service"
	if outage.Kind == transport.OutageEndpoint {
		others = "Other requests to this endpoint" + endpointOf(outage.Cause)
	}
	server := "The service"
	if outage.Kind == transport.OutageOtherServer {
		server = "The server at base_url"
	}
	detail := "Could not " + operation + ". " + causeFrom(server, outage.Cause)
	detail += "\n\n" + adviceForOutage(outage)
	detail += "\n\n" + others + " may fail for the same reason. Cards that only needed a refresh keep their state, and this error is not repeated for them."
	return diag.NewErrorDiagnostic(capitalized(reason), detail)
}

func adviceForOutage(outage *transport.OutageError) string {
	_, isErrorResponse := errors.AsType[*transport.Error](outage.Cause)
	if outage.Kind == transport.OutageOtherServer && !isErrorResponse { // for example, a 200 response with a page
		return "Another server answers at base_url, such as a proxy or a login page. " +
			"Check base_url or VCARD_BASE_URL: the host, the port, and the path with its version prefix, as in https://host/api/v1."
	}
	return advice(outage.Cause)
}

// ReadFailure describes a failed read for a diagnostic about its consequences. The reason is one or more sentences, as in
// "GET /bins returned 500." todo says what to do. It is "" if there is no advice, and for a 5xx response, after which
// there is nothing to do but to plan again.
func ReadFailure(err error) (reason, todo string) {
	cause := err
	outage, isOutage := errors.AsType[*transport.OutageError](err)
	if isOutage {
		cause = outage.Cause
		todo = adviceForOutage(outage)
	} else {
		todo = advice(err)
	}
	refused, ok := errors.AsType[*transport.Error](cause)
	if !ok {
		return sentence(transport.WithoutOperation(cause)), todo
	}
	if refused.Status >= http.StatusInternalServerError {
		todo = ""
	}
	request := refused.Method + " " + refused.Path
	return sentence(describeResponse(request, refused)), todo
}

// endpointOf returns the method and path of a failed request in parentheses, as in " (GET /bins)", or "".
func endpointOf(err error) string {
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		return fmt.Sprintf(" (%s %s)", refused.Method, refused.Path)
	}
	if request, ok := errors.AsType[*transport.RequestError](err); ok {
		return fmt.Sprintf(" (%s %s)", request.Method, request.Path)
	}
	return ""
}

func outageReason(kind transport.OutageKind) string {
	switch kind {
	case transport.OutageKeyRefused:
		return "the service rejected the API key"
	case transport.OutageNotReady:
		return "the account is not ready for the API"
	case transport.OutageUnavailable:
		return "the service is not available"
	case transport.OutageEndpoint:
		return "a service endpoint is failing"
	case transport.OutageOtherServer:
		return "the server at base_url is not the service"
	}
	return "the service cannot be reached" // OutageUnreachable
}

// LostResponseWarning reports, if lost is true, that a call succeeded although it got no usable response to one of its
// requests. The operation completes "the request to …", as in "fund card X". The title is constant, so that Terraform
// shows one warning and counts the others.
func LostResponseWarning(operation string, lost bool) diag.Diagnostics {
	if !lost {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Recovered from a lost response", "The response to the request to "+operation+
		" was lost, late or unusable. The provider confirmed afterwards that the request took effect. Unless another warning says otherwise, no action is needed.")}
}

// Cause describes an error in one or more sentences. It leaves out the operation, for a diagnostic whose title contains
// it.
func Cause(err error) string { return causeFrom("The service", err) }

// causeFrom is Cause for a response of the named server.
func causeFrom(server string, err error) string {
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok {
		return fmt.Sprintf("The request may or may not have taken effect (idempotency key %s). %s", undecided.Key, CauseOfUndecided(undecided))
	}
	refused, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return sentence(transport.WithoutOperation(err))
	}
	return sentence(describeResponse(server, refused))
}

// CauseOfUndecided describes, in a sentence each, the failure of a change and the findings of later reads.
func CauseOfUndecided(e *transport.UndecidedError) string {
	sentences := []string{sentence(transport.WithoutOperation(e.Err))}
	for _, finding := range e.Findings {
		sentences = append(sentences, sentence(transport.WithoutOperation(finding)))
	}
	return strings.Join(sentences, " ")
}

// describeResponse describes an error response. The subject is the server that sent it, or the request that it
// responds to, as in "GET /bins".
func describeResponse(subject string, refused *transport.Error) string {
	text := fmt.Sprintf("%s returned %d", subject, refused.Status)
	if refused.Code != "" {
		text += fmt.Sprintf(" (%s)", refused.Code)
	}
	if refused.Message != "" {
		text += ": " + refused.Message
	}
	if refused.Withheld {
		text += "; the message is not shown, because it may contain a secret"
	}
	return text
}

// sentence returns a text with an upper-case first letter and a full stop, or "" for an empty text.
func sentence(text string) string {
	text = capitalized(text)
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// advice returns what to do about an error, or "" if there is nothing to add to its text.
func advice(err error) string {
	if undecided, ok := errors.AsType[*transport.UndecidedError](err); ok {
		return adviceForUndecided(undecided)
	}
	if _, stopped := errors.AsType[*transfer.StoppedError](err); stopped {
		return "" // not the advice about the refused key that it may wrap
	}
	if errors.Is(err, api.ErrLabelUndecided) {
		return "This run reports another error about a card with this label. Follow the advice of that error first. Then apply again."
	}
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		return adviceForResponse(refused)
	}
	if _, ok := errors.AsType[*transport.ShapeError](err); ok {
		return "The response is not what the API documentation describes, so trying again does not help. Check that base_url is the address of the service. If it is, report the field to the service's support."
	}
	if paused, ok := errors.AsType[*ratelimit.PausedError](err); ok {
		return rateLimitAdvice(paused.Until)
	}
	if _, ok := errors.AsType[*crash.Error](err); ok {
		return "" // its text asks to report the bug
	}
	if errors.Is(err, context.Canceled) {
		return "The run was interrupted. Nothing more was sent. Run terraform plan to see what is still missing."
	}
	dialFailure := failedDial(err)
	if errors.Is(err, context.DeadlineExceeded) && dialFailure == nil { // connecting has a timeout of its own
		return "The service took longer than request_timeout. Try again, or raise request_timeout in the provider configuration."
	}
	if isPlainHTTP(err) {
		return "The server at base_url speaks plain http, but base_url starts with https://. Check the port. The address of a sandbox starts with http://."
	}
	if _, ok := errors.AsType[*transport.ProxyError](err); ok {
		return "The environment variable HTTPS_PROXY or HTTP_PROXY names this proxy. Check the variable, or add the service's host to NO_PROXY to connect without a proxy."
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return "The host name in base_url cannot be resolved. Check base_url."
	}
	if dialFailure != nil && isLoopback(dialFailure.Addr) {
		return "No server listens at base_url. Start the sandbox with vcard sandbox, or set base_url to the address that the sandbox printed."
	}
	if _, ok := errors.AsType[*transport.RequestError](err); ok {
		return "Check base_url and the network between this machine and the service, then try again."
	}
	return ""
}

// isPlainHTTP reports whether a TLS connection failed because the server responded with plain HTTP.
func isPlainHTTP(err error) bool {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok && string(record.RecordHeader[:]) == "HTTP/"
}

// failedDial returns the failed attempt to connect to the server or to a proxy, or nil if the error has another cause.
func failedDial(err error) *net.OpError {
	operation, ok := errors.AsType[*net.OpError](err)
	if ok && (operation.Op == "dial" || operation.Op == "proxyconnect") {
		return operation
	}
	return nil
}

// isLoopback reports whether an address is a TCP address of the loopback interface.
func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func adviceForUndecided(e *transport.UndecidedError) string {
	todo := adviceForMutation(e)
	refused, ok := errors.AsType[*transport.Error](e.Err)
	if ok && refused.Code == "" && refused.Status < 500 {
		return strings.TrimSpace("The response is not the service's own. A gateway or another server may have sent it, and the request may have taken effect. " + todo)
	}
	return todo
}

// adviceForMutation says how to find out whether a change was made. It returns "" if there are cards that may be
// the requested one, because the advice depends on those cards.
func adviceForMutation(e *transport.UndecidedError) string {
	switch e.Kind {
	case transport.MutationIssue:
		if len(e.Candidates) > 0 {
			return ""
		}
		if e.Answered {
			return "The service accepted the request, so the card may still appear. Before you apply again, look for it in the dashboard, or with vcard statement --no-unmanaged, which needs data \"vcard_cards\" \"all\" {} in the configuration. To keep the card, import it: terraform import ADDRESS ID."
		}
		return "The service may have issued a card and charged the wallet. Before you apply again, check the dashboard for a new card on that BIN. To keep such a card, import it: terraform import ADDRESS ID."
	case transport.MutationMove:
		return "The money may have moved. If Terraform manages the card, plan and apply again: the provider first checks whether the money moved, and does not move it twice. " +
			"Otherwise check the card in the dashboard before you try again."
	case transport.MutationRegister:
		return "The endpoint may exist. Check the dashboard. If the endpoint is there, remove it before you register it again."
	}
	return "If Terraform manages the card, run terraform plan, which reads the card and shows what is still missing. " +
		"Otherwise check the card in the dashboard."
}

// rateLimitAdvice returns what to do when the service enforces a rate limit. The zero time means that the end of the
// limit is not known.
func rateLimitAdvice(until time.Time) string {
	wait := "Wait a minute"
	if !until.IsZero() {
		wait = "Wait until " + until.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return "Other users of this API key have probably used up its rate limit. " + wait +
		" and try again, or give each pipeline a share with rate_limits in the provider configuration."
}

const readiness = "Before an account can use the API, its owner must confirm the e-mail address and make a first deposit. " +
	"Then support must enable API access."

// onboardingAdvice says how to make the account ready. It names the next step if the service's message mentions only
// that one.
func onboardingAdvice(message string) string {
	message = strings.ToLower(message)
	mail := strings.Contains(message, "mail")
	deposit := strings.Contains(message, "deposit")
	if mail && !deposit {
		return readiness + " Next, confirm the e-mail address in the dashboard."
	}
	if deposit && !mail {
		return readiness + " Next, make a first deposit. The dashboard shows the addresses; the API does not show them yet."
	}
	return readiness + " Complete the first two steps in the dashboard."
}

func adviceForResponse(refused *transport.Error) string {
	switch refused.Code {
	case "onboarding_incomplete":
		return onboardingAdvice(refused.Message)
	case "api_not_enabled":
		return readiness + " Next, contact the service's support to enable API access."
	case "card_terminated":
		return "The card is already terminated, which is final. Run terraform plan again. If the configuration still contains this card, the new plan issues another one."
	case "bin_not_found":
		return "Choose another BIN. The data source vcard_bins lists those that this account can issue on."
	case "idempotency_key_reused":
		return "The service has seen this request's idempotency key with a different body. Run the command again; the provider then uses a new key."
	}
	status := refused.Status
	missing := status == http.StatusNotFound || status == http.StatusGone
	switch {
	case status == http.StatusUnauthorized:
		return "Check api_key in the provider configuration or VCARD_API_KEY. Keys start with sk_live_ and work only with the service that issued them. You create them in the dashboard under API access."
	case status == http.StatusForbidden:
		return readiness + " If all of this is done, contact the service's support."
	case refused.LacksFunds() && strings.HasSuffix(refused.Path, "/withdraw"):
		return "The card's balance is lower than this amount, perhaps after a purchase. Check the balance, then withdraw less."
	case refused.LacksFunds():
		return "The wallet balance is too low. Deposit first (the data source vcard_deposit_addresses lists the addresses), or use a smaller amount."
	case missing && refused.Code == "":
		return "The response is not the service's own; a gateway or another server may have sent it. It does not prove that anything is missing. Check base_url and try again."
	case missing:
		pathsOfEveryAccount := []string{"/wallet/balance", "/wallet/deposit-address", "/bins", "/3ds"}
		if refused.Method == http.MethodGet { // a POST to /cards may fail because its BIN is missing
			pathsOfEveryAccount = append(pathsOfEveryAccount, "/cards", "/transactions")
		}
		if slices.Contains(pathsOfEveryAccount, refused.Path) {
			return "This endpoint exists for every account, so another server may be at base_url. Check the host of base_url and its path with the version prefix, as in https://host/api/v1."
		}
		return "Either the id is wrong, or the API key belongs to another account. Check both."
	case status == http.StatusConflict:
		return "Someone may be changing the same object at the moment. Try again; if the error persists, check the object in the dashboard."
	case status == http.StatusTooManyRequests:
		return rateLimitAdvice(refused.RetryAt)
	case status >= 300 && status < 400:
		return "The provider does not follow redirects, because they would send the API key to another address. Set base_url to the address of the service itself."
	case status == http.StatusServiceUnavailable:
		return "The service is temporarily unavailable. Wait a few minutes and try again."
	case status >= 500:
		return "The service or a gateway in front of it failed; the configuration is probably not the cause. Try again later, and contact the service's support if the error persists."
	case refused.Withheld && refused.Path == "/webhooks":
		return "Check url, events, and secret or secret_wo: the service rejected one of them."
	case refused.Withheld && refused.Path == "/3ds":
		return "Check status: the service may not support this value."
	}
	return ""
}
