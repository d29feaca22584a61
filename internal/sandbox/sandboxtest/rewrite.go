package sandboxtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The handlers in this file change the responses of a sandbox: they simulate a stale replica,
// cards that do not appear yet, or lists with other pages or another order. All data about cards
// and money stays in the sandbox.

// Rewrite returns a handler that changes the responses of another one. A handler aborts a response with
// a panic: Rewrite then sends what was written so far without changes, and panics too, so that a
// truncated response stays truncated.
func Rewrite(next http.Handler, change func(*http.Request, *httptest.ResponseRecorder)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := httptest.NewRecorder()
		aborted := serveAndRecover(next, response, r)
		if aborted != nil && response.Body.Len() == 0 {
			panic(aborted)
		}
		if aborted == nil {
			change(r, response)
			response.Header().Set("Content-Length", strconv.Itoa(response.Body.Len()))
		}
		maps.Copy(w.Header(), response.Header())
		if response.Code == http.StatusNoContent {
			w.Header().Del("Content-Length")
		}
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes())
		if aborted != nil {
			_ = http.NewResponseController(w).Flush()
			panic(aborted)
		}
	})
}

// serveAndRecover serves a request. It returns the value of the handler's panic, or nil if there is none.
func serveAndRecover(handler http.Handler, w http.ResponseWriter, r *http.Request) (aborted any) {
	defer func() { aborted = recover() }()
	handler.ServeHTTP(w, r)
	return nil
}

// Lag returns a handler that responds to reads of a path with an old body while stale returns true.
func Lag(next http.Handler, path string, old []byte, stale func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path) && stale() {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(old)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// EditCards returns a handler that changes each card of a response, and hides those for which
// edit returns false: no list contains them, and a request for one returns 404.
func EditCards(next http.Handler, edit func(card map[string]any) bool) http.Handler {
	edited := Rewrite(next, func(_ *http.Request, response *httptest.ResponseRecorder) {
		card := object(response.Body.Bytes())
		if card["balance"] == nil {
			return
		}
		edit(card)
		response.Body.Reset()
		_ = json.NewEncoder(response.Body).Encode(card)
	})
	list := List[map[string]any]{Entries: func(r *http.Request) []map[string]any {
		return slices.DeleteFunc(allPages(next, r), func(card map[string]any) bool { return !edit(card) })
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, path, _ := strings.Cut(r.URL.Path, "/api/v1")
		if path == "/cards" && r.Method == http.MethodGet {
			list.ServeHTTP(w, r)
			return
		}
		rest, isCard := strings.CutPrefix(path, "/cards/")
		if isCard {
			id, _, _ := strings.Cut(rest, "/")
			card := get(next, r, "/cards/"+id, r.URL.RawQuery)
			if card["id"] != nil && !edit(card) {
				notFound(w)
				return
			}
		}
		edited.ServeHTTP(w, r)
	})
}

// EditList returns a handler that changes the whole list at a path. The responses have no total.
func EditList(next http.Handler, path string, edit func(all []map[string]any) []map[string]any) http.Handler {
	list := List[map[string]any]{
		NoTotal: true,
		Entries: func(r *http.Request) []map[string]any { return edit(allPages(next, r)) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path) {
			list.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// OldestFirst returns a handler that lists cards in the reverse order of the API.
func OldestFirst(next http.Handler) http.Handler {
	list := List[map[string]any]{Entries: func(r *http.Request) []map[string]any {
		all := allPages(next, r)
		slices.Reverse(all)
		return all
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/cards") {
			list.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Query returns a handler that sets a query parameter of the requests to a path. If the value is
// empty, it removes the parameter.
func Query(next http.Handler, path, name, value string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, path) {
			r = r.Clone(r.Context())
			query := r.URL.Query()
			query.Set(name, value)
			if value == "" {
				query.Del(name)
			}
			r.URL.RawQuery = query.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

// List serves entries in pages, as the API does unless its fields say otherwise.
type List[T any] struct {
	Entries func(*http.Request) []T // of all pages

	PerPage int      // entries per page, instead of the requested number
	NoTotal bool     // the response has neither per_page nor total
	Total   string   // JSON to return as total; PAGE stands for the number of entries on the page
	OnePage bool     // the response is page 1, whichever page is requested
	Short   []string // pages that lack their first three entries
	Refused string   // a page for which the response is 404
}

func (l *List[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := cmp.Or(r.URL.Query().Get("page"), "1")
	if page == l.Refused {
		notFound(w)
		return
	}
	entries := l.Entries(r)
	requested, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	size := cmp.Or(l.PerPage, requested, 25)
	number, _ := strconv.Atoi(page)
	if l.OnePage {
		number = 1
	}
	start := min((max(number, 1)-1)*size, len(entries))
	end := min(start+size, len(entries))
	shown := entries[start:end]
	if slices.Contains(l.Short, page) {
		shown = shown[3:]
	}
	data := []byte("[]")
	if len(shown) > 0 {
		data = Must(json.Marshal(shown))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"data":%s,"page":%d`, data, number)
	if !l.NoTotal {
		total := strings.ReplaceAll(cmp.Or(l.Total, strconv.Itoa(len(entries))), "PAGE", strconv.Itoa(len(shown)))
		_, _ = io.WriteString(w, `,"per_page":`+strconv.Itoa(size)+`,"total":`+total) //nolint:gosec // the text comes from a test
	}
	_, _ = io.WriteString(w, "}")
}

// allPages returns the entries on all pages of the list that is requested.
func allPages(next http.Handler, r *http.Request) []map[string]any {
	var all []map[string]any
	query := r.URL.Query()
	query.Set("per_page", "100")
	for page := 1; ; page++ {
		query.Set("page", strconv.Itoa(page))
		_, path, _ := strings.Cut(r.URL.Path, "/api/v1")
		data, _ := get(next, r, path, query.Encode())["data"].([]any)
		for _, entry := range data {
			fields, _ := entry.(map[string]any)
			all = append(all, fields)
		}
		if len(data) < 100 {
			return all
		}
	}
}

// get makes a GET request with the API key of another request, and returns the response.
func get(next http.Handler, r *http.Request, path, query string) map[string]any {
	other := r.Clone(r.Context())
	other.Method = http.MethodGet
	other.Body = http.NoBody
	other.ContentLength = 0
	other.URL.Path = "/api/v1" + path
	other.URL.RawQuery = query
	response := httptest.NewRecorder()
	next.ServeHTTP(response, other)
	return object(response.Body.Bytes())
}

func notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"not_found","message":"no such card"}`)
}

// Names gives the cards of a sandbox the names card_1, card_2 and so on in their order of issue,
// and two BINs the names bin_1 and bin_2, so that test tables can refer to them.
type Names struct {
	sandbox *Client
	toBIN   *strings.Replacer
	fromBIN *strings.Replacer

	mu  sync.Mutex
	ids []string // ids of the cards, in their order of issue
}

// NewNames returns the names of a sandbox's cards.
func NewNames(sandbox *Client) *Names {
	return &Names{
		sandbox: sandbox,
		toBIN:   strings.NewReplacer("bin_1", BIN, "bin_2", "bin_ads_visa_eu"),
		fromBIN: strings.NewReplacer(BIN, "bin_1", "bin_ads_visa_eu", "bin_2"),
	}
}

var (
	cardID   = regexp.MustCompile(`card_[0-9a-z]{24}`)
	cardName = regexp.MustCompile(`card_\d{1,6}\b`)
)

// IDs replaces the names in a text with ids.
func (n *Names) IDs(text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cardName.ReplaceAllStringFunc(n.toBIN.Replace(text), func(name string) string {
		number := Must(strconv.Atoi(strings.TrimPrefix(name, "card_")))
		if number > len(n.ids) {
			n.learn()
		}
		if number == 0 || number > len(n.ids) {
			return name
		}
		return n.ids[number-1]
	})
}

// Names replaces the ids in a text with names.
func (n *Names) Names(text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cardID.ReplaceAllStringFunc(n.fromBIN.Replace(text), func(id string) string {
		if !slices.Contains(n.ids, id) {
			n.learn()
		}
		i := slices.Index(n.ids, id)
		if i < 0 {
			return id
		}
		return fmt.Sprintf("card_%d", i+1)
	})
}

// learn reads the ids of the cards that were issued since the last call.
func (n *Names) learn() {
	var added []string
	for page := 1; ; page++ {
		cards := n.sandbox.Get(fmt.Sprintf("/cards?per_page=20&page=%d", page)).OK(http.StatusOK).Data()
		for _, card := range cards {
			id, _ := card["id"].(string)
			if len(n.ids) > 0 && id == n.ids[len(n.ids)-1] {
				slices.Reverse(added)
				n.ids = append(n.ids, added...)
				return
			}
			added = append(added, id)
		}
		if len(cards) < 20 {
			slices.Reverse(added)
			n.ids = append(n.ids, added...)
			return
		}
	}
}

// Handler returns a handler that accepts names in requests and returns names in responses.
func (n *Names) Handler(next http.Handler) http.Handler {
	renamed := Rewrite(next, func(_ *http.Request, response *httptest.ResponseRecorder) {
		response.Body = bytes.NewBufferString(n.Names(response.Body.String()))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		text := n.IDs(string(body))
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(strings.NewReader(text))
		r.ContentLength = int64(len(text))
		r.URL.Path = n.IDs(r.URL.Path)
		r.URL.RawQuery = n.IDs(r.URL.RawQuery)
		renamed.ServeHTTP(w, r)
	})
}
