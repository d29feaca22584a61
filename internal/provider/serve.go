package provider

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc/grpclog"
)

// Serve serves a provider of this version ("dev" outside releases) to the CLI
// that has started this process, until the CLI ends it.
func Serve(version string) error {
	quietSDK()
	tuneGarbageCollection()
	// timeout(1) and systemd send it to the CLI and the provider. The CLI follows it, and
	// waits for what the provider has sent.
	signal.Ignore(syscall.SIGTERM)
	go endWith(os.Getppid())
	return serve(version)
}

// endWith ends this process after its parent, which tells nothing when it is killed.
func endWith(parent int) {
	for range time.Tick(time.Second) {
		if now := os.Getppid(); now > 0 && now != parent { // it is -1 where Windows cannot tell
			os.Exit(1) //nolint:revive // nobody is left to take an error
		}
	}
}

// ServeDebugger serves a provider of this version that a debugger such as delve
// runs: it says how a CLI finds it, and ends with an interrupt.
func ServeDebugger(version string) error {
	return serve(version, tf6server.WithManagedDebug())
}

// serve ends with the sandboxes closed, so that their files hold everything. The
// CLI kills a provider two seconds after it asked it to end.
func serve(version string, options ...tf6server.ServeOpt) error {
	keepSecretsFromSDK()
	p := newProvider(version, nil)
	err := tf6server.Serve(Address, p.newServer, options...)
	return errors.Join(err, p.sandboxes.close())
}

// keepSecretsFromSDK has the SDK write no values, and gRPC no lines, whatever is asked for.
func keepSecretsFromSDK() {
	_ = os.Unsetenv("TF_LOG_SDK_PROTO_DATA_DIR")
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}

// quietSDK switches the SDK's loggers off unless a log is asked for. The CLI would drop every
// line unread, and writing them takes half the time of a plan.
func quietSDK() {
	asked := func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return value != "" && (name == "TF_LOG" || strings.HasPrefix(name, "TF_LOG_PROVIDER") || strings.HasPrefix(name, "TF_LOG_SDK"))
	}
	if slices.ContainsFunc(os.Environ(), asked) {
		return
	}
	for _, logger := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"} {
		_ = os.Setenv(logger, "OFF")
	}
}

const (
	// gcPercent lets the heap grow to five times of what is in use.
	gcPercent = 400
	// softMemoryLimit, in bytes, has the garbage collected more often beyond it.
	softMemoryLimit = 48 << 20
)

// tuneGarbageCollection trades memory that a run does not miss for time.
func tuneGarbageCollection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemoryLimit)
	}
}
