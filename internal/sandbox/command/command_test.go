package command_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
)

func TestMainServesUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	var keys [2]string
	for i := range keys {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		out, in := io.Pipe()
		var log bytes.Buffer
		ended := make(chan int, 1)
		begun := time.Now()
		go func() {
			ended <- command.Main(ctx, []string{"--listen", "127.0.0.1:0", "--data", path, "--initial-balance", "12.5"}, in, &log)
			_ = in.Close()
		}()
		lines := bufio.NewScanner(out)
		values := map[string]string{}
		for range 2 {
			if !lines.Scan() {
				t.Fatalf("standard output ended: %s", log.String())
			}
			name, value, _ := strings.Cut(lines.Text(), "=")
			values[name] = value
		}
		if took := time.Since(begun); took > 2*time.Second { // 300 ms on a quiet machine
			t.Errorf("took %v to listen", took)
		}
		keys[i] = values["VCARD_API_KEY"]
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, values["VCARD_BASE_URL"]+"/wallet/balance", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+keys[i])
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"balance":12.50`) {
			t.Errorf("answered %d %s %v", response.StatusCode, body, err)
		}
		_ = response.Body.Close()
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("ended with %d: %s", code, log.String())
		}
		if strings.Contains(log.String(), keys[i]) {
			t.Error("the log shows the key")
		}
	}
	if keys[0] != keys[1] || keys[0] == "" {
		t.Error("the key changed between two runs on one file")
	}
}

func TestMainRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"unknown flag":  {[]string{"--fast"}, 2, "--fast"},
		"argument":      {[]string{"now"}, 2, `"now"`},
		"balance":       {[]string{"--initial-balance", "ten"}, 2, "--initial-balance"},
		"third decimal": {[]string{"--initial-balance", "1.001"}, 2, "two decimals"},
		"no folder":     {[]string{"--data", filepath.Join(t.TempDir(), "none", "s.db")}, 1, "create it first"},
		"a real key":    {[]string{"--data", ":memory:", "--api-key", "sk_live_real"}, 1, "sk_live_sandbox_"},
		"a bad address": {[]string{"--data", ":memory:", "--listen", "127.0.0.1:99999"}, 1, "cannot listen on 127.0.0.1:99999"},
		"no CA file":    {[]string{"--data", ":memory:", "--webhook-ca", "none.pem"}, 1, "none.pem"},
		"no CA in it":   {[]string{"--data", ":memory:", "--webhook-ca", "command_test.go"}, 1, "PEM"},
		"help":          {[]string{"--help"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, log bytes.Buffer
			if code := command.Main(t.Context(), c.args, &out, &log); code != c.code || !strings.Contains(log.String(), c.text) {
				t.Errorf("ended with %d: %s", code, log.String())
			}
			if name == "help" && !strings.Contains(out.String(), "--listen") {
				t.Errorf("help is %q", out.String())
			}
		})
	}
}
