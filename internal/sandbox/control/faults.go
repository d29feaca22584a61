package control

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	maxFaults = 100      // each call looks through all of them
	maxPath   = 256      // characters
	maxBody   = 64 << 10 // bytes of a response of a fault's own
	maxTimes  = 1_000_000
	maxDelay  = 100_000 // milliseconds; the server gives up on a response after two minutes
)

func listFaults(c *server.Call) (wire.Response, error) {
	faults, err := behavior.Faults(c.Tx)
	return wire.OK(wire.List[behavior.Fault]{Data: faults}), err
}

func clearFaults(c *server.Call) (wire.Response, error) {
	return wire.OK(wire.List[behavior.Fault]{Data: []behavior.Fault{}}), behavior.ClearFaults(c.Tx)
}

// removeFault shows the faults that are left.
func removeFault(c *server.Call) (wire.Response, error) {
	text := c.PathValue("id")
	id, _ := strconv.ParseInt(text, 10, 64) // ids begin with 1
	found, err := behavior.RemoveFault(c.Tx, id)
	switch {
	case err != nil:
		return wire.Response{}, err
	case !found: // a fault belongs to the file, not to an account
		return wire.Response{}, wire.NewError(http.StatusNotFound, wire.CodeNotFound, "there is no fault %.64q; it may have been applied", text)
	}
	return listFaults(c)
}

// addFault sets a fault for calls that one of the API's routes takes.
func (s *shared) addFault(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	f := behavior.Fault{
		Method:  fields.Choice("method", http.MethodGet, http.MethodPost, http.MethodDelete, behavior.AnyMethod),
		Path:    fields.ShortText("path", maxPath),
		Times:   fields.Integer("times", 1, 0, maxTimes),
		When:    fields.OptionalChoice("when", behavior.Before, behavior.Before, behavior.After),
		DelayMS: fields.Integer("delay_ms", 0, 0, maxDelay),
		Then:    readThen(fields),
	}
	checkPath(fields, &f, s.api)
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	faults, err := behavior.Faults(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	if len(faults) >= maxFaults {
		return wire.Response{}, wire.Invalid("there are %d faults already; delete them first", maxFaults)
	}
	if err := behavior.AddFault(c.Tx, &f); err != nil {
		return wire.Response{}, err
	}
	return wire.Created(f), nil
}

func readThen(fields *wire.Fields) (then behavior.Then) {
	if !fields.HasObject("then") {
		then.Word = fields.OptionalChoice("then", "", behavior.Drop, behavior.Truncate, behavior.Pass)
		if then.Word == "" {
			fields.Refuse(wire.Invalid(`then is required: {"status": 503}, "drop", "truncate" or "pass"`))
		}
		return then
	}
	fields.Object("then", func(f *wire.Fields) {
		then.Status = int(f.Integer("status", 0, http.StatusOK, 599))
		if then.Status == 0 {
			f.Refuse(wire.Invalid("status is required"))
		}
		if then.Body = f.Value("body"); len(then.Body) > maxBody {
			f.Refuse(wire.Invalid("body has more than %d bytes", maxBody))
		}
	})
	return then
}

// faultPath matches segments that are words or, for any one, a star; or all paths.
var faultPath = regexp.MustCompile(`^(\*|(/(\*|[\w.~-]+))+)$`)

// checkPath refuses one that no call would ever match.
func checkPath(fields *wire.Fields, f *behavior.Fault, api []server.Route) {
	if !faultPath.MatchString(f.Path) || strings.HasPrefix(f.Path, server.API) || strings.HasPrefix(f.Path, server.Control) {
		fields.Refuse(wire.Invalid("path is what follows %s, with * for a segment, as in /cards/*/fund, or * for all", server.API))
		return
	}
	meets := func(r server.Route) bool {
		path, found := strings.CutPrefix(r.Path, server.API)
		return found && (f.Method == behavior.AnyMethod || f.Method == r.Method) && (f.Path == behavior.AnyPath ||
			slices.EqualFunc(strings.Split(f.Path, "/"), strings.Split(path, "/"), func(pattern, segment string) bool {
				return pattern == segment || pattern == behavior.AnySegment && segment != "" || strings.HasPrefix(segment, "{")
			}))
	}
	if !slices.ContainsFunc(api, meets) {
		fields.Refuse(wire.Invalid("no call of the API is %s %s", f.Method, f.Path))
	}
}
