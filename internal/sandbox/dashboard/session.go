package dashboard

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	// sessionTime is how long somebody stays logged in.
	sessionTime = 12 * time.Hour
	// leftTime is how long the response to a form, which may be a card's number,
	// waits for its page.
	leftTime = time.Minute
	// linkTime is how long the link logs in.
	linkTime = 15 * time.Minute
	// maxForms is how many forms are known to have been sent from a session.
	maxForms = 32
)

// session is somebody who is logged in.
type session struct {
	accountID int64
	expires   time.Time
	left      *posted // for the page that follows
	forms     []*sentForm
}

// sentForm is a form that was sent, and what came of it.
type sentForm struct {
	hash     [sha256.Size]byte
	once     sync.Once
	response wire.Response
	refused  *wire.Error
}

// sessions are kept in memory, by their cookies: the end of the process logs everybody out.
type sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*session
}

// begin logs in to an account and returns the cookie's value.
func (s *sessions) begin(accountID int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, value := s.now(), rand.Text()
	maps.DeleteFunc(s.all, func(_ string, one *session) bool { return !one.expires.After(now) })
	s.all[value] = &session{accountID: accountID, expires: now.Add(sessionTime)}
	return value
}

// with calls f with the session of a cookie, unless it has ended.
func (s *sessions) with(value string, f func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[value]; one != nil && one.expires.After(s.now()) {
		f(one)
	}
}

// account returns the account that a cookie is logged in to.
func (s *sessions) account(value string) (id int64, found bool) {
	s.with(value, func(one *session) { id, found = one.accountID, true })
	return id, found
}

func (s *sessions) end(value string) {
	s.with(value, func(one *session) { *one = session{} }) // as if expired
}

// once does what a form asks for. Whoever sends the same form again, by a second
// click, a reload or the way back, gets the outcome of the first time.
func (s *sessions) once(value, fields string, do func() (wire.Response, *wire.Error)) (res wire.Response, refused *wire.Error, repeated bool) {
	sent := &sentForm{hash: sha256.Sum256([]byte(fields))}
	s.with(value, func(one *session) {
		if i := slices.IndexFunc(one.forms, func(f *sentForm) bool { return f.hash == sent.hash }); i >= 0 {
			sent, repeated = one.forms[i], true
			return
		}
		one.forms = append(one.forms, sent)
		one.forms = one.forms[max(0, len(one.forms)-maxForms):]
	})
	sent.once.Do(func() { sent.response, sent.refused = do() })
	return sent.response, sent.refused, repeated
}

// leave keeps what a form has done for the page that follows, the first time before others.
func (s *sessions) leave(value string, sent *posted, repeated bool) {
	sent.expires = s.now().Add(leftTime)
	s.with(value, func(one *session) {
		if !repeated || one.left == nil {
			one.left = sent
		}
	})
}

// take returns what was left for a page, once; nil when there is nothing.
func (s *sessions) take(value, path string) (sent *posted) {
	s.with(value, func(one *session) {
		if one.left == nil || one.left.path != path {
			return
		}
		if one.left.expires.After(s.now()) {
			sent = one.left
		}
		one.left = nil
	})
	return sent
}

// newLink returns what logs in without a key, and what tells whether a token is that and still
// good, for the last time.
func newLink(now func() time.Time) (token string, use func(string) bool) {
	token = rand.Text()
	expires, used := now().Add(linkTime), false
	var mu sync.Mutex
	return token, func(sent string) bool {
		mu.Lock()
		defer mu.Unlock()
		good := subtle.ConstantTimeCompare([]byte(sent), []byte(token)) == 1 && !used && now().Before(expires)
		used = used || good
		return good
	}
}

// cookieName tells servers on other ports of a host apart, which share cookies.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "vcard_dashboard_" + port
}

func cookie(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie has the browser keep a value; an empty one ends it.
func setCookie(w http.ResponseWriter, r *http.Request, value string) {
	age := int(sessionTime / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure: the sandbox speaks plain HTTP
		Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// maxForm is how many bytes a form may have.
const maxForm = 64 << 10

// showLogin asks for a key, or takes the link, which no program that looks ahead uses up.
func (d *Dashboard) showLogin(w http.ResponseWriter, r *http.Request) {
	_, loggedIn := d.sessions.account(cookie(r))
	token := r.URL.Query().Get("token")
	looksAhead := r.Header.Get("Sec-Purpose") + r.Header.Get("Purpose") + r.Header.Get("X-Purpose") // of browsers before anybody has opened the page
	switch {
	case token == "" && loggedIn:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case token == "" || r.Method != http.MethodGet || looksAhead != "":
		d.askForKey(w, r, http.StatusOK, "")
	case !d.useLink(token):
		d.askForKey(w, r, http.StatusForbidden, "This link has expired or was already used. Log in with the API key.")
	default:
		d.begin(w, r, d.First)
		// Not a redirect: browsers keep a strict cookie from one that another site began.
		w.Header().Set("Refresh", "0; url=/")
		d.render(w, "welcome", http.StatusOK, &frame{Title: "Welcome"})
	}
}

// begin logs in to an account, and out of the one before.
func (d *Dashboard) begin(w http.ResponseWriter, r *http.Request, accountID int64) {
	d.sessions.end(cookie(r))
	setCookie(w, r, d.sessions.begin(accountID))
}

func (d *Dashboard) askForKey(w http.ResponseWriter, r *http.Request, status int, problem string) {
	d.render(w, "login", status, &frame{Title: "Log in", Problem: problem, Query: url.Values{"next": {nextPath(r)}}})
}

// nextPath is where to go after the log-in: a path of this server.
func nextPath(r *http.Request) string {
	next, err := url.Parse(cmp.Or(r.PostForm.Get("next"), r.URL.Query().Get("next")))
	if err != nil || !isPage(next) || strings.Contains(next.Path, `\`) {
		return "/"
	}
	// Whatever else there is, such as a host, is left out.
	return (&url.URL{Path: next.Path, RawQuery: next.RawQuery}).RequestURI()
}

func (d *Dashboard) logIn(w http.ResponseWriter, r *http.Request) {
	if !d.parseForm(w, r) {
		return
	}
	var by account.Account
	refused := d.Server.Read(r.Context(), func(tx *store.Tx) (err error) {
		by, err = account.ByKey(tx, strings.TrimSpace(r.PostForm.Get("key")))
		return err
	})
	switch {
	case refused != nil:
		d.showError(w, r, refused)
	case by.ID == 0:
		d.askForKey(w, r, http.StatusForbidden, "No account has this API key. The server prints the key as VCARD_API_KEY when it starts.")
	default:
		d.begin(w, r, by.ID)
		http.Redirect(w, r, nextPath(r), http.StatusSeeOther)
	}
}

func (d *Dashboard) logOut(w http.ResponseWriter, r *http.Request) {
	d.sessions.end(cookie(r))
	setCookie(w, r, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// parseForm reads the form of a request, and tells the sender when it cannot.
func (d *Dashboard) parseForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		d.showError(w, r, wire.Invalid("the form could not be read"))
		return false
	}
	return true
}
