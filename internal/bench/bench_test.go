//go:build unix

// Package bench_test measures the built provider under the real CLI, against the
// built sandbox, with fleets of cards of several sizes. It prints a table in which
// every figure stands beside the least that is possible.
package bench_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	most   = flag.Int("bench.cards", 0, "cards of the largest fleet to measure, up to 10000; 0 leaves measuring out")
	random = flag.String("bench.random", "", "the binary of hashicorp/random to compare with")
)

const (
	// changed is how many cards each apply changes, whatever the size of the fleet: as
	// many as may be issued in a minute.
	changed = 50
	// repeats is how often everything but the largest is measured; the least of the
	// times counts, and the most of the calls.
	repeats = 3
	// largest is a fleet too large for anything but one plan.
	largest = 10_000
	// slow is the latency of a service far away.
	slow = 100 * time.Millisecond
	// The operations that have targets.
	planned, plannedOffline = "plan, no changes", "plan, no refresh"
	providerSize            = "size of the provider"
)

const legend = `Each apply changes %d cards of a fleet, one in ten of which is frozen at first; %d processors.
Beside each figure stands the least that is possible:
  requests  the pages of the card lists that show the fleet, and one call for each changed card
  wall      the CLI doing the same with as many terraform_data, which call no API;
            and, where it was given, with hashicorp/random's random_id
  memory    %d MB: the peak of a provider process that has no card to care for

`

const columns = "%5v  %7v  %-16v  %8v  %5v  %8v  %7v  %9v  %6v  %v\n"

//nolint:paralleltest // it measures
func TestFigures(t *testing.T) {
	if *most == 0 {
		t.Skip("-bench.cards says how many cards to measure")
	}
	if _, err := exec.LookPath(*random); *random != "" && err != nil {
		t.Fatalf("-bench.random is to be the binary of hashicorp/random: %v", err)
	}
	began, figures := time.Now(), map[string]int{}
	_, idle := newFleet(t, "fleet", 0).run("plan")
	fmt.Printf(legend, changed, runtime.GOMAXPROCS(0), idle)
	fmt.Printf(columns, "cards", "latency", "what", "requests", "least", "wall", "least", "random_id", "memory", "requests made")
	for _, cards := range []int{100, 1_000, 3_000, largest} {
		if cards <= *most {
			measure(t, cards, figures)
		}
	}
	program := sandboxtest.Must(os.Stat(sandboxtest.Provider(t)))
	figures[providerSize] = int((program.Size() + 999) / 1000)
	for _, purchases := range []int{500, 5_000} {
		measureTransactions(t, purchases)
	}
	fmt.Println()
	for _, target := range []struct {
		figure string
		most   int
		unit   string
	}{
		{providerSize, 25_500, "kB"},
		{"calls of a plan of 100 cards", 3, "calls"},
		{"calls of a plan of 1000 cards", 12, "calls"},
		{"calls of a plan of 3000 cards", 32, "calls"},
		{"calls of a plan of 10000 cards", 180, "calls"},
		{"peak with 1000 cards", 70, "MB"},
		{"peak with 3000 cards", 100, "MB"},
		{"peak with 10000 cards", 200, "MB"},
		{"plan of 1000 cards at 100ms, of that of terraform_data", 500, "%"},
		{"plan of 1000 cards at 100ms, of that of random_id", 130, "%"},
		{"plan of 1000 cards at 100ms, of that of the same with -refresh=false", 140, "%"},
		{"plan of 10000 cards at 100ms, of that of terraform_data", 250, "%"},
	} {
		measured, found := figures[target.figure]
		result := "met"
		switch {
		case !found && (*most < largest || *random == "" && strings.HasSuffix(target.figure, "random_id")):
			continue // nobody asked for it
		case !found, measured > target.most:
			result = "missed"
			t.Fail()
		}
		fmt.Printf("%-70s  %5d %-5s  at most %4d  %s\n", target.figure, measured, target.unit, target.most, result)
	}
	fmt.Printf("\nMeasured in %v.\n", time.Since(began).Round(time.Second))
}

// measure goes through all operations on a fleet, for each latency, and notes the
// figures that have targets.
func measure(t *testing.T, cards int, figures map[string]int) {
	t.Helper()
	all, runs, latencies := len(operations(nil)), repeats, []time.Duration{0, slow}
	if cards == largest {
		all, runs, latencies = 1, 1, []time.Duration{slow}
	}
	least, randomWall := map[string]time.Duration{}, map[string]time.Duration{}
	baseline := newFleet(t, "baseline", cards)
	for _, o := range operations(baseline)[:all] {
		if o.like == "" {
			least[o.name] = baseline.measure(o, runs).wall
		}
	}
	if *random != "" && cards < largest {
		f := newFleet(t, "random", cards)
		randomWall[planned] = f.measure(operations(f)[0], runs).wall
	}
	for _, latency := range latencies {
		f, plan := newFleet(t, "fleet", cards), row{}
		f.delay(latency)
		for _, o := range operations(f)[:all] {
			r, like := f.measure(o, runs), cmp.Or(o.like, o.name)
			r.leastWall, r.randomWall = least[like], randomWall[like]
			f.print(o, r)
			if sum(r.requests) < r.least || r.peak == 0 {
				t.Fatal("there are fewer requests than are possible, or no peak")
			}
			note := func(figure string, measured int) { figures[figure] = max(figures[figure], measured) }
			note(fmt.Sprintf("peak with %d cards", cards), r.peak)
			times := fmt.Sprintf("plan of %d cards at %v, of that of ", cards, latency)
			switch o.name {
			case planned:
				plan = r
				note(fmt.Sprintf("calls of a plan of %d cards", cards), sum(r.requests))
				note(times+"terraform_data", int(100*r.wall/r.leastWall))
				if r.randomWall > 0 {
					note(times+"random_id", int(100*r.wall/r.randomWall))
				}
			case plannedOffline:
				note(times+"the same with -refresh=false", int(100*plan.wall/r.wall))
			}
		}
		f.service.Kill()
	}
}

// measureTransactions plans a configuration that sums up all transactions of an account.
// The least is the pages that have them.
func measureTransactions(t *testing.T, purchases int) {
	t.Helper()
	for _, latency := range []time.Duration{0, slow} {
		f := newFleet(t, "transactions", 0)
		for range 20 {
			f.service.Issue("1000")
		}
		made := f.service.Post("/_sandbox/simulate", object{"days": purchases / 500, "purchases_per_day": 500}).OK(http.StatusCreated)
		settled, err := strconv.Atoi(made.Text("settled"))
		if err != nil {
			t.Fatal(err)
		}
		transactions := purchases + settled
		f.delay(latency)
		o := operation{name: fmt.Sprintf("plan, %d txns", transactions), args: "plan"}
		r := f.measure(o, repeats)
		r.least = (transactions + 99) / 100
		f.print(o, r)
		f.service.Kill()
	}
}

// operation is something to measure, on what the one before has left.
type operation struct {
	name string
	like string // the one of the baseline that it is compared with; "" for the same
	args string
	next func(run int) // has each run change something; nil for none
}

func operations(f *fleet) []operation {
	const plan, apply = "plan -detailed-exitcode", "apply -auto-approve"
	var imported []string
	return []operation{
		{planned, "", plan, nil},
		{plannedOffline, planned, plan + " -refresh=false", nil},
		{"apply, fund", "", apply, func(run int) { f.set("load", 70+10*run) }},
		{"apply, issue", "", apply, func(run int) { f.set("issued", (run+1)*changed) }},
		{"apply, freeze", "apply, fund", apply, func(run int) { f.set("frozen", run%2 == 0) }},
		{"apply, import", "apply, issue", apply, func(int) {
			for range changed {
				imported = append(imported, strconv.Quote(f.service.Issue("60")))
			}
			f.set("imported", "["+strings.Join(imported, ",")+"]")
		}},
	}
}

// row is one measurement.
type row struct {
	requests                    map[string]int // by method and endpoint
	least                       int            // in all
	wall, leastWall, randomWall time.Duration  // 0 when not measured
	peak                        int            // of the provider's memory, in MB
}

func (f *fleet) print(o operation, r row) {
	var made []string
	for _, request := range slices.Sorted(maps.Keys(r.requests)) {
		made = append(made, fmt.Sprint(r.requests[request], " ", request))
	}
	fmt.Printf(columns, f.cards, f.latency, o.name, sum(r.requests), r.least, seconds(r.wall), seconds(r.leastWall),
		seconds(r.randomWall), fmt.Sprint(r.peak, " MB"), strings.Join(made, ", "))
}

func sum(requests map[string]int) (all int) {
	for _, n := range requests {
		all += n
	}
	return all
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// A mistake in these would falsify the figures unseen: what was added to the state is as
// the service has it, and the environment steers no process.
func TestFleetIsAsTheServiceHasIt(t *testing.T) {
	t.Setenv("TF_CLI_ARGS_plan", "-refresh=false")
	t.Setenv("VCARD_SANDBOX", "elsewhere.db")
	f := newFleet(t, "fleet", 20)
	if set := os.Getenv("GOGC") + os.Getenv("GOMEMLIMIT"); set != "" {
		t.Errorf("the memory is that of a collector set to %s", set)
	}
	if said := f.Must("plan", "-refresh-only", "-no-color"); !strings.Contains(said, "No changes.") {
		t.Errorf("the service has it otherwise:\n%s", said)
	}
	r := f.measure(operations(f)[2], 1)
	if r.requests["POST /cards/*/fund"] != 20 || r.requests["GET /cards"] != 2 || r.least != 2+changed || r.peak == 0 {
		t.Errorf("funding 20 cards took %v, of which %d are needed for %d, and %d MB", r.requests, r.least, changed, r.peak)
	}
}

// peaksVariable names the file to add the peak of the provider's memory to, in MB. It
// makes this program run the provider that its first argument names. Only who waits
// for a process learns that figure exactly.
const peaksVariable = "VCARD_BENCH_PEAKS"

func TestMain(m *testing.M) {
	path := os.Getenv(peaksVariable)
	if path == "" {
		sandboxtest.Run(m)
		return
	}
	signal.Ignore(os.Interrupt) // the CLI tells the provider when to end
	provider := exec.Command(os.Args[1], os.Args[2:]...)
	provider.Stdin, provider.Stdout, provider.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := provider.Run(); provider.ProcessState == nil {
		panic(err)
	}
	peak := provider.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS != "darwin" {
		peak *= 1024 // others count in KiB
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(file, peak/1_000_000)
	os.Exit(provider.ProcessState.ExitCode())
}

type object = map[string]any

// fleet is a folder of the CLI whose state has a number of cards that its service has
// too, or as many resources of another provider.
type fleet struct {
	*acctest.Workspace
	t       *testing.T
	service *sandboxtest.Process
	peaks   string
	cards   int
	latency time.Duration // of every response
}

// newFleet has the resources of a configuration in testdata. The first comes through
// the provider, and all others directly, since the provider would keep to the limits
// of the service. One in ten cards is frozen.
func newFleet(t *testing.T, config string, cards int) *fleet {
	t.Helper()
	acctest.Needs(t, "1.7.0", "1.7.0") // for the import of many
	w := acctest.NewWorkspace(t)
	t.Setenv("GOGC", "") // which tests set
	t.Setenv("GOMEMLIMIT", "")
	w.Write("main.tf", sandboxtest.File(t, "testdata", config+".tf"))
	f := &fleet{t: t, peaks: filepath.Join(w.Dir, "peaks"), cards: cards}
	f.Workspace = w.Wrapped(fmt.Sprintf(`%s='%s' exec '%s' "$PROVIDER" "$@"`, peaksVariable, f.peaks, os.Args[0]))
	if config == "random" {
		f.Install("hashicorp/random", filepath.Dir(*random))
	}
	f.service = sandboxtest.StartProcess(t, nil, "--data=:memory:", "--initial-balance=10000000")
	f.service.Quirks(nil)
	f.service.Unlimited()
	f.Env = append(f.Env, "VCARD_BASE_URL="+f.service.URL, "VCARD_API_KEY="+f.service.Key, fmt.Sprint("TF_VAR_changed=", changed))
	f.set("fleet", min(cards, 1))
	if cards > 0 {
		f.Must("apply", "-auto-approve")
		f.addOthers(config == "fleet")
	}
	f.set("fleet", cards)
	return f
}

// set sets a variable of the configuration.
func (f *fleet) set(name string, value any) {
	f.Env = append(f.Env, fmt.Sprintf("TF_VAR_%s=%v", name, value))
}

// addOthers adds to the first resource of the state the others, which are the same but
// for the attributes that are their own.
func (f *fleet) addOthers(cards bool) {
	const file = "terraform.tfstate"
	var state object
	if err := json.Unmarshal([]byte(f.Read(file)), &state); err != nil {
		f.t.Fatal(err)
	}
	resource := state["resources"].([]any)[0].(object)
	instances := resource["instances"].([]any)
	first := instances[0].(object)
	for number := 1; number < f.cards; number++ {
		own := object{"id": fmt.Sprint("other-", number)}
		if cards {
			own = f.issue(number)
		}
		other, attributes := maps.Clone(first), maps.Clone(first["attributes"].(object))
		maps.Copy(attributes, own)
		other["index_key"], other["attributes"] = number, attributes
		if first["identity"] != nil {
			other["identity"] = object{"id": own["id"]}
		}
		instances = append(instances, other)
	}
	resource["instances"] = instances
	content, _ := json.Marshal(state)
	f.Write(file, string(content))
}

// issue issues a card of the configuration, freezes it if it is one of the last tenth,
// and returns the attributes that are its own.
func (f *fleet) issue(number int) object {
	card := f.service.Post("/cards", object{
		"bin_id": sandboxtest.BIN, "amount": 60, "label": fmt.Sprint("campaign ", number),
		"allowed_categories": []string{"advertising"}, "metadata": object{"team": "ads"},
	}).OK(http.StatusCreated)
	own := object{"money_record": reconcile.IssuedRecord(60*usd.Dollar, time.Now()).Text(card.Text("id"))} // another card's counts as lost
	for _, name := range []string{"id", "last4", "label", "created_at", "expires_at"} {
		own[name] = card.Text(name)
	}
	if number >= f.cards-f.cards/10 {
		f.service.Freeze(card.Text("id"))
		own["status"], own["frozen"] = "frozen", true
	}
	return own
}

// delay holds every response of the API back from now on.
func (f *fleet) delay(latency time.Duration) {
	f.latency = latency
	for _, path := range []string{"/*", "/*/*", "/*/*/*"} { // no path of the API is longer
		f.service.Fault(object{"method": "*", "path": path, "times": 0, "when": "before", "delay_ms": latency.Milliseconds(), "then": "pass"})
	}
}

// measure runs the CLI several times.
func (f *fleet) measure(o operation, runs int) row {
	r := row{wall: math.MaxInt64}
	for run := range runs {
		least := 0
		if o.next != nil {
			o.next(run)
			least = changed
		}
		if o.name != plannedOffline {
			least += f.pages()
		}
		f.service.Delete("/_sandbox/requests").Must()
		wall, peak := f.run(strings.Fields(o.args)...)
		r.wall, r.peak = min(r.wall, wall), max(r.peak, peak)
		if made := f.requests(); sum(made) >= sum(r.requests) {
			r.requests, r.least = made, least
		}
	}
	return r
}

// run runs the CLI, and returns its time and the peak of the providers' memory in MB.
func (f *fleet) run(args ...string) (wall time.Duration, peak int) {
	_ = os.Remove(f.peaks)
	began := time.Now()
	f.Must(append(args, "-input=false", "-no-color")...)
	wall = time.Since(began)
	content, _ := os.ReadFile(f.peaks) // there is none where no provider was
	for field := range strings.FieldsSeq(string(content)) {
		one, _ := strconv.Atoi(field)
		peak = max(peak, one)
	}
	return wall, peak
}

// pages is how many pages of the card lists show all active and frozen cards, 100 each
// at most (API §4.2).
func (f *fleet) pages() (pages int) {
	for _, status := range []string{"active", "frozen"} {
		total, _ := strconv.Atoi(f.service.Get("/cards?per_page=1&status=" + status).Text("total"))
		pages += (total + 99) / 100
	}
	return pages
}

var cardID = regexp.MustCompile(`card_\w+`)

// requests counts those that the service got.
func (f *fleet) requests() map[string]int {
	counts := map[string]int{}
	for _, r := range f.service.Requests() {
		counts[r.Method+" "+cardID.ReplaceAllString(r.Path, "*")]++
	}
	return counts
}
