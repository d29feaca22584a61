package session_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// Every response that is no success says what came back, and what to do.
func TestErrorDiagnosticSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		says []string
	}{
		"redirect":        {&transport.Error{Status: http.StatusMovedPermanently}, []string{"answered 301", "Redirects are not followed", "base_url"}},
		"unauthorized":    {&transport.Error{Status: http.StatusUnauthorized, Code: "unauthorized"}, []string{"answered 401 (unauthorized)", "VCARD_API_KEY"}},
		"not ready":       {&transport.Error{Status: http.StatusForbidden, Code: "api_not_enabled"}, []string{"answered 403 (api_not_enabled)", "The third step"}},
		"onboarding":      {&transport.Error{Status: http.StatusForbidden, Code: "onboarding_incomplete", Message: "Confirm the e-mail, and make a deposit"}, []string{"The first or the second step"}},
		"not onboarded":   {&transport.Error{Status: http.StatusForbidden, Code: "onboarding_incomplete", Message: "Not yet"}, []string{"The first or the second step"}},
		"no e-mail":       {&transport.Error{Status: http.StatusForbidden, Code: "onboarding_incomplete", Message: "Confirm the E-Mail"}, []string{"The first step is next"}},
		"no deposit":      {&transport.Error{Status: http.StatusForbidden, Code: "onboarding_incomplete", Message: "Deposit first"}, []string{"The second step is next"}},
		"forbidden":       {&transport.Error{Status: http.StatusForbidden}, []string{"answered 403", "confirms the e-mail address"}},
		"not found":       {&transport.Error{Status: http.StatusNotFound, Code: "not_found", Message: "no such card"}, []string{"answered 404 (not_found): no such card.", "belongs to another account"}},
		"no wallet":       {&transport.Error{Status: http.StatusNotFound, Code: "not_found", Path: "/wallet/balance"}, []string{"answered 404 (not_found).", "something else may be at base_url"}},
		"gateway's 404":   {&transport.Error{Status: http.StatusNotFound, Message: "<html>"}, []string{"answered 404: <html>.", "a gateway or another server answered in its place"}},
		"conflict":        {&transport.Error{Status: http.StatusConflict}, []string{"answered 409", "Something else may be changing the same object"}},
		"rate limited":    {&transport.Error{Status: http.StatusTooManyRequests}, []string{"answered 429", "rate_limits"}},
		"paused for long": {&transport.Error{Status: http.StatusTooManyRequests, RetryAt: time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)}, []string{"Wait until 2026-03-01 14:30:00 UTC"}},
		"server error":    {&transport.Error{Status: http.StatusInternalServerError}, []string{"answered 500", "Try again later"}},
		"bad gateway":     {&transport.Error{Status: http.StatusBadGateway, Message: "<html>"}, []string{"answered 502: <html>.", "a gateway in front of it"}},
		"unavailable":     {&transport.Error{Status: http.StatusServiceUnavailable}, []string{"answered 503", "not available at the moment"}},
		"poor card":       {&transport.Error{Status: http.StatusPaymentRequired, Code: "E1001", Path: "/cards/card_1/withdraw"}, []string{"The card holds less"}},
		"reused key":      {&transport.Error{Status: http.StatusBadRequest, Code: "idempotency_key_reused"}, []string{"Run the command again"}},
		"unknown BIN":     {&transport.Error{Status: http.StatusBadRequest, Code: "bin_not_found"}, []string{"vcard_bins"}},
		"plain http":      {&transport.RequestError{Err: tls.RecordHeaderError{RecordHeader: [5]byte([]byte("HTTP/"))}}, []string{"speaks plain http"}},
		"no TLS":          {&transport.RequestError{Err: tls.RecordHeaderError{RecordHeader: [5]byte([]byte("SSH-2"))}}, []string{"Check base_url and the network"}},
		"no connection":   {&transport.RequestError{Operation: "read card card_1", Err: errors.New("connection refused")}, []string{"connection refused", "Check base_url"}},
		"no sandbox":      {&transport.RequestError{Err: &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv6loopback}, Err: errors.New("connection refused")}}, []string{"Nothing listens there. Start the sandbox"}},
		"no host":         {&transport.RequestError{Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "cards.example", IsNotFound: true}}}, []string{"Check the host in base_url"}},
		"a proxy":         {&transport.RequestError{Operation: "read card card_1", Err: &transport.ProxyError{Address: "10.0.0.1:3128", Err: errors.New("Forbidden")}}, []string{"through the proxy 10.0.0.1:3128: Forbidden", "HTTPS_PROXY", "NO_PROXY"}},
		"undecided transfer": {
			&transport.UndecidedError{Kind: transport.MutationMove, Operation: "fund card card_1", Attempts: 2, Key: "k1", Err: &transport.Error{Status: 500}},
			[]string{"not known whether this took effect (attempts: 2, idempotency key k1)", "run terraform plan"},
		},
		"undecided issuance": {&transport.UndecidedError{Kind: transport.MutationIssue, Err: errors.New("lost")}, []string{"Look for a new card"}},
		"undecided issuance in an outage": {
			&transport.UndecidedError{Kind: transport.MutationIssue, Attempts: 1, Key: "k1", Err: &transport.OutageError{Kind: transport.OutageEndpoint, Err: &transport.Error{Status: http.StatusServiceUnavailable}}},
			[]string{"not known whether this took effect (attempts: 1, idempotency key k1)", "Look for a new card"},
		},
		"undecided webhook": {&transport.UndecidedError{Kind: transport.MutationRegister, Err: errors.New("lost")}, []string{"remove it there before you register it again"}},
		"undecided freeze":  {&transport.UndecidedError{Kind: transport.MutationSetFrozen, Err: errors.New("lost")}, []string{"Run terraform plan: it reads the card's state"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := session.ErrorDiagnostic("fund card card_1", test.err)
			if d.Summary() != "Could not fund card card_1" {
				t.Errorf("the summary is %q", d.Summary())
			}
			sandboxtest.Says(t, "the detail", d.Detail(), test.says...)
			if !strings.HasSuffix(d.Detail(), ".") || strings.Contains(d.Detail(), "..") {
				t.Errorf("%q is no sentence", d.Detail())
			}
		})
	}
}

// Terraform shows one of many warnings with the same title.
func TestLostResponseWarning(t *testing.T) {
	t.Parallel()
	one, other := session.LostResponseWarning("fund card card_1", true), session.LostResponseWarning("issue card card_2", true)
	if len(one) != 1 || one[0].Summary() != other[0].Summary() || !strings.HasPrefix(one[0].Detail(), "When asked to fund card card_1, the service's response was lost on the way") {
		t.Errorf("says %v and %v", one, other)
	}
	if diags := session.LostResponseWarning("fund card card_1", false); diags != nil {
		t.Errorf("nothing was lost, and it says %v", diags)
	}
}
