package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// methods are the calls of the protocol that the framework serves, less what is made once
// in a run; this provider has no state stores, renews nothing and moves no state.
func methods(t *testing.T) []string {
	t.Helper()
	var names []string
	seldom := []string{"GetMetadata", "GetResourceIdentitySchemas", "GetFunctions", "MoveResourceState", "RenewEphemeralResource", "CloseEphemeralResource"}
	stateStores := reflect.TypeFor[tfprotov6.StateStoreServer]()
	framework := reflect.TypeOf(providerserver.NewProtocol6(provider.New("test")())())
	for method := range framework.Methods() {
		if _, ok := stateStores.MethodByName(method.Name); !ok && !slices.Contains(seldom, method.Name) {
			names = append(names, method.Name)
		}
	}
	return names
}

// keptByCall makes a call and returns a pointer to what only the call's context knows. Streams are read to their end, or
// given up at their first item.
func keptByCall(server tfprotov6.ProviderServer, method string, giveUp bool) weak.Pointer[[1 << 10]byte] {
	type key struct{}
	known := &[1 << 10]byte{}
	kept := weak.Make(known)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, known))
	callEmpty(ctx, server, method, giveUp)
	cancel()
	return kept
}

// isReleased waits until nothing refers to a value any more. A goroutine of the call may end a moment after it. A minute
// is a safety net.
func isReleased(kept weak.Pointer[[1 << 10]byte]) bool {
	giveUp := time.After(time.Minute)
	for {
		runtime.GC()
		if kept.Value() == nil {
			return true
		}
		select {
		case <-giveUp:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// callEmpty makes a call that asks for nothing, from which the framework may panic.
func callEmpty(ctx context.Context, server tfprotov6.ProviderServer, method string, giveUp bool) {
	defer func() { _ = recover() }()
	call := reflect.ValueOf(server).MethodByName(method)
	results := call.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.New(call.Type().In(1).Elem())})
	for _, field := range []string{"Results", "Events"} {
		if stream := results[0].Elem().FieldByName(field); stream.IsValid() {
			for range stream.Seq() {
				if giveUp {
					break
				}
			}
		}
	}
}

// When the framework's own server no longer keeps what it knew, it has learnt to let go
// of its calls, and the server around it can go.
func TestServerLetsGoOfEveryCall(t *testing.T) {
	t.Parallel()
	for _, method := range methods(t) {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			for _, giveUp := range []bool{false, true} {
				server := provider.NewServer("test")()
				if !isReleased(keptByCall(server, method, giveUp)) {
					t.Errorf("given up %t, the call's context outlives it", giveUp)
				}
				runtime.KeepAlive(server)
			}
			if method == "StopProvider" {
				return
			}
			framework := providerserver.NewProtocol6(provider.New("test")())()
			kept := keptByCall(framework, method, false)
			runtime.GC()
			if kept.Value() == nil {
				t.Error("the framework no longer keeps the call's context")
			}
			runtime.KeepAlive(framework)
		})
	}
}

func TestServerCancelsWhatRuns(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(p *acctest.Protocol, hangUp context.CancelFunc){
		"stop":             func(p *acctest.Protocol, _ context.CancelFunc) { p.Interrupt() },
		"a caller's leave": func(_ *acctest.Protocol, hangUp context.CancelFunc) { hangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{})
			service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(asked)
				<-r.Context().Done()
			}))
			t.Cleanup(service.Close)
			p := acctest.Configure(t, acctest.Object{"base_url": service.URL + "/api/v1", "api_key": "sk_live_test"})
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			caller := p.With(ctx)
			ended := make(chan acctest.Diagnostics)
			go func() {
				_, diagnostics := caller.ReadDataSource("vcard_bins", acctest.Object{})
				ended <- diagnostics
			}()
			select {
			case <-asked:
			case diagnostics := <-ended:
				t.Fatal("the call ended before anybody cancelled it:", diagnostics.Errors())
			}
			cancel(p, hangUp)
			select {
			case diagnostics := <-ended:
				if diagnostics.Errors() == "" {
					t.Error("a cancelled call succeeded")
				}
			case <-time.After(time.Minute):
				t.Error("a cancelled call goes on")
			}
		})
	}
}

// A bug ends the call that meets it, in whichever goroutine, and repeats no value.
func TestPanicEndsItsCall(t *testing.T) {
	t.Parallel()
	told := 0
	for _, method := range methods(t) {
		call := reflect.ValueOf(provider.NewServer("test")()).MethodByName(method)
		results := call.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(call.Type().In(1))})
		if err, failed := reflect.TypeAssert[error](results[1]); failed && strings.Contains(err.Error(), "panic of type runtime") {
			told++
		}
	}
	if told < 10 { // the framework reads what is not there
		t.Errorf("%d calls tell of a bug", told)
	}

	service := acctest.Start(t)
	p := acctest.Configure(t, acctest.Object{"base_url": service.URL, "api_key": service.Key}, provider.WithClock(&panickingClock{reason: "0000123412341234"}))
	_, listed := p.List("vcard_card", acctest.Object{}, 10, true)
	_, invoked := p.InvokeAction("vcard_card_freeze", acctest.Object{"card_id": "card_1"}, nil)
	for _, said := range []string{listed.Errors(), invoked.Errors()} {
		if !strings.Contains(said, "provider_test.secret") || !strings.Contains(said, "server_test.go:") || strings.Contains(said, "0000") {
			t.Errorf("said %q", said)
		}
	}
}

type secret string

// panickingClock tells the time once, to the provider's configuration.
type panickingClock struct {
	reason     secret
	configured atomic.Bool
}

func (c *panickingClock) Now() time.Time {
	if c.configured.Swap(true) {
		panic(c.reason)
	}
	return time.Now()
}

func (c *panickingClock) Wait(context.Context, time.Duration) error { panic(c.reason) }

// The requests of one process say that they belong together, and no other's do.
func TestRequestsNameTheirRun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	s := acctest.Start(t).Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen[r.UserAgent()]++
		return false
	})
	for range 2 {
		p := acctest.Configure(t, acctest.Object{"base_url": s.URL, "api_key": s.Key})
		p.ReadDataSource("vcard_bins", acctest.Object{})
		p.ReadDataSource("vcard_wallet_balance", acctest.Object{})
	}
	if len(seen) != 2 {
		t.Fatalf("the runs are %v", seen)
	}
	for agent, requests := range seen {
		if !regexp.MustCompile(`^terraform-provider-vcard/test Terraform/1\.14\.0 run/[0-9a-f]{8}$`).MatchString(agent) || requests < 2 {
			t.Errorf("%s has %d requests", agent, requests)
		}
	}
}

// The SDK logs every call, which the CLI reads and drops unless somebody asked for a log.
func TestSDKLogsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for asked, logs := range map[string]bool{"TF_LOG_PROVIDER=TRACE": true, "TF_LOG_PROVIDER=": false} {
		w := acctest.NewWorkspace(t)
		w.Write("main.tf", acctest.Required+`
			provider "vcard" {
				sandbox = { path = "sandbox.db" }
			}
			resource "vcard_card" "test" {
				bin_id = "bin_ads_visa_us"
				amount = 50
			}`)
		stderr := filepath.Join(w.Dir, "stderr.log")
		w = w.Wrapped(fmt.Sprintf(`exec "$PROVIDER" "$@" 2>>'%s'`, stderr))
		w.Env = append(w.Env, asked)
		w.Must("plan")
		if logged := strings.Contains(w.Read("stderr.log"), `"@module":"sdk.`); logged != logs {
			t.Errorf("%s: the SDK logs: %t", asked, logged)
		}
	}
}

func TestProviderEndsAfterItsCLI(t *testing.T) {
	t.Parallel()
	output, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	cli := exec.CommandContext(t.Context(), "sh", "-c", `"$0" & wait`, sandboxtest.Provider(t))
	cli.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
	cli.Stdout = write
	if err := cli.Start(); err != nil {
		t.Skip(err) // without a shell
	}
	if err := errors.Join(write.Close(), output.SetReadDeadline(time.Now().Add(20*time.Second))); err != nil {
		t.Fatal(err)
	}
	handshake := make([]byte, 1)
	if _, err := output.Read(handshake); err != nil {
		t.Fatal(err)
	}
	if err := cli.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cli.Wait() // it was killed
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Errorf("the provider goes on: %v", err)
	}
}
