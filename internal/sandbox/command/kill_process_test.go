package command_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// program is the built binary.
type program string

func build(t *testing.T) program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "terraform-provider-vcard")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, "github.com/vcard/terraform-provider-vcard").CombinedOutput()
	if err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return program(file)
}

// process is a running sandbox.
type process struct {
	command *exec.Cmd
	log     *bytes.Buffer
	client  *http.Client
	base    string
	key     string
}

func (p program) start(t *testing.T, arguments []string) *process {
	t.Helper()
	server := &process{log: new(bytes.Buffer), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	server.command = exec.CommandContext(t.Context(), string(p), append([]string{"sandbox", "--listen", "127.0.0.1:0"}, arguments...)...)
	server.command.Stderr = server.log
	out, err := server.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.command.Start(); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for lines := bufio.NewScanner(out); len(values) < 2 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		values[name] = value
	}
	server.base, server.key = strings.TrimSuffix(values["VCARD_BASE_URL"], "/api/v1"), values["VCARD_API_KEY"]
	if server.key == "" {
		_ = server.command.Wait()
		t.Fatalf("it did not start: %s", server.log)
	}
	return server
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.command.Wait() // "signal: killed"
	p.client.CloseIdleConnections()
	if text := p.log.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("the log has an error: %s", text)
	}
}

// reply is an answer, or why there is none.
type reply struct {
	err      error
	status   int
	raw      string
	replayed bool
}

func (p *process) call(method, path, body, key string) (r reply) {
	request, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("X-Idempotency-Key", key)
	}
	response, err := p.client.Transport.RoundTrip(request)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return reply{err, response.StatusCode, string(raw), response.Header.Get("Idempotent-Replayed") == "true"}
}

func (r reply) want(t *testing.T, status int) reply {
	t.Helper()
	if r.err != nil || r.status != status {
		t.Fatalf("answered %d %s %v, want %d", r.status, r.raw, r.err, status)
	}
	return r
}

func (r reply) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.raw), into); err != nil {
		t.Errorf("%v in %s", err, r.raw)
	}
}

// cards returns all cards by their ids.
func (p *process) cards(t *testing.T) map[string]card {
	t.Helper()
	all := map[string]card{}
	for page := 1; ; page++ {
		var list struct {
			Data []struct {
				ID string `json:"id"`
				card
			} `json:"data"`
		}
		p.call(http.MethodGet, fmt.Sprintf("/api/v1/cards?per_page=100&page=%d", page), "", "").want(t, 200).decode(t, &list)
		for _, c := range list.Data {
			all[c.ID] = c.card
		}
		if len(list.Data) < 100 {
			return all
		}
	}
}

// awaitDeliveries returns when there is nothing left to deliver.
func (p *process) awaitDeliveries(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		list := p.call(http.MethodGet, "/_sandbox/deliveries", "", "").want(t, 200).raw
		waiting := strings.Count(list, `"state":"pending"`)
		if waiting == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d deliveries are still to come", waiting)
		}
	}
}

// eventReceiver counts the events that arrive.
type eventReceiver struct {
	url    string
	server *httptest.Server

	mu     sync.Mutex
	events map[string]string // by id: type and card
	again  int               // arrivals of an event that was there already
}

func receiveEvents(t *testing.T) *eventReceiver {
	t.Helper()
	r := &eventReceiver{events: map[string]string{}}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var event struct {
			ID   string `json:"id"`
			Type string `json:"type"`
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
			w.WriteHeader(http.StatusBadRequest) // cut off with the sandbox
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.events[event.ID] != "" {
			r.again++
		}
		r.events[event.ID] = event.Type + " " + event.Data.ID
	}))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that were cut off
	r.server.StartTLS()
	r.url = r.server.URL
	t.Cleanup(r.server.Close)
	return r
}

// authority writes the certificate of the receiver to a file.
func (r *eventReceiver) authority(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// compare holds what arrived against what the clients changed.
func (r *eventReceiver) compare(t *testing.T, all []*client, kills int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[string]int{}
	for _, what := range r.events {
		got[what]++
	}
	for _, c := range all {
		for what, n := range c.events {
			if got[what] != n {
				t.Errorf("%d different events %q arrived, want %d", got[what], what, n)
			}
			delete(got, what)
		}
	}
	if len(got) > 0 {
		t.Errorf("events that nobody caused: %v", got)
	}
	t.Logf("%d events, %d arrivals more than once", len(r.events), r.again)
	if most := kills * 8; r.again > most { // each kill may cut off what is on its way
		t.Errorf("%d arrivals more than once, want at most %d", r.again, most)
	}
}
