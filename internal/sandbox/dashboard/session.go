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
	// sessionTime is how long a user stays logged in.
	sessionTime = 12 * time.Hour
	// pendingTime is how long the outcome of a form waits for the page that shows it. It is short, because the outcome
	// may contain a card number.
	pendingTime = time.Minute
	// linkTime is how long the login link works.
	linkTime = 15 * time.Minute
	// maxForms is how many sent forms a session remembers.
	maxForms = 32
)

// session is the login of one user.
type session struct {
	accountID int64
	expires   time.Time
	pending   *formOutcome // waits for the page that shows it; nil if there is none
	forms     []*sentForm  // the newest ones, oldest first
}

// sentForm is a form that was sent. A session remembers it, so that its call is not made again.
type sentForm struct {
	hash [sha256.Size]byte // of the path and all fields
	once sync.Once         // makes the call

	// callOnce sets the following fields. They must not be read before it has returned.
	response wire.Response
	refused  *wire.Error
}

// callOnce makes the form's call, unless it was made before. It waits until the call has ended.
func (f *sentForm) callOnce(call func() (wire.Response, *wire.Error)) {
	f.once.Do(func() {
		// If call panics, a repeated form gets this outcome.
		f.refused = wire.NewError(http.StatusInternalServerError, wire.CodeInternal,
			"the action failed because of a bug, so check what it did before you try again")
		f.response, f.refused = call()
	})
}

// sessions are the logins by the values of their cookies. They are kept in memory.
type sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*session
}

// isExpired reports whether the login has ended.
func (s *session) isExpired(now time.Time) bool { return !now.Before(s.expires) }

// start logs in to an account and returns the value of the cookie. It also forgets expired sessions.
func (s *sessions) start(accountID int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	cookie := rand.Text()
	maps.DeleteFunc(s.all, func(_ string, sess *session) bool { return sess.isExpired(now) })
	s.all[cookie] = &session{accountID: accountID, expires: now.Add(sessionTime)}
	return cookie
}

// find returns the session of a cookie, or nil if there is none or it has expired. The caller has locked mu.
func (s *sessions) find(cookie string) *session {
	sess := s.all[cookie]
	if sess == nil || sess.isExpired(s.now()) {
		return nil
	}
	return sess
}

// accountID returns the id of the account that a cookie is logged in to, and whether there is one.
func (s *sessions) accountID(cookie string) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := s.find(cookie)
	if sess == nil {
		return 0, false
	}
	return sess.accountID, true
}

// end logs out the session of a cookie, if there is one.
func (s *sessions) end(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, cookie)
}

// remember returns the session's form with a content, and reports whether the session already remembered it. If not,
// the session remembers it now, and may forget its oldest form. Without a session, remember returns a new form.
func (s *sessions) remember(cookie, content string) (*sentForm, bool) {
	hash := sha256.Sum256([]byte(content))
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := s.find(cookie)
	if sess == nil {
		return &sentForm{hash: hash}, false
	}
	for _, form := range sess.forms {
		if form.hash == hash {
			return form, true
		}
	}
	form := &sentForm{hash: hash}
	sess.forms = append(sess.forms, form)
	if len(sess.forms) > maxForms {
		sess.forms = sess.forms[1:]
	}
	return form, false
}

// keep stores the outcome of a form for the page that shows it. A repeated form does not replace an outcome that still
// waits for its page.
func (s *sessions) keep(cookie string, outcome *formOutcome, repeated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := s.find(cookie)
	if sess == nil {
		return
	}
	waits := sess.pending != nil && s.now().Before(sess.pending.expires)
	if repeated && waits {
		return
	}
	outcome.expires = s.now().Add(pendingTime)
	sess.pending = outcome
}

// take returns the outcome that keep stored for a page, and removes it. It returns nil if there is none, or
// if it has expired.
func (s *sessions) take(cookie, path string) *formOutcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := s.find(cookie)
	if sess == nil || sess.pending == nil {
		return nil
	}
	outcome := sess.pending
	if outcome.path != path {
		return nil
	}
	sess.pending = nil
	expired := !s.now().Before(outcome.expires)
	if expired {
		return nil
	}
	return outcome
}

// loginLink logs in once, without a key.
type loginLink struct {
	token   string
	expires time.Time

	mu   sync.Mutex
	used bool
}

func newLoginLink(now time.Time) *loginLink {
	return &loginLink{token: rand.Text(), expires: now.Add(linkTime)}
}

// use reports whether a token logs in: it must be the link's token, and the link must be neither used nor expired. If
// so, the link counts as used.
func (l *loginLink) use(token string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := subtle.ConstantTimeCompare([]byte(token), []byte(l.token)) == 1
	if !same {
		return false
	}
	expired := !now.Before(l.expires)
	if l.used || expired {
		return false
	}
	l.used = true
	return true
}

// cookieName returns the name of the session's cookie. It contains the port, because browsers send a host's
// cookies to every port.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host) // if the host has no port, the port is empty
	return "vcard_dashboard_" + port
}

// cookieValue returns the value of the session's cookie, or "" if the request has none.
func cookieValue(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie makes the browser keep a value. An empty value deletes the cookie.
func setCookie(w http.ResponseWriter, r *http.Request, value string) {
	age := int(sessionTime / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure: the sandbox speaks plain HTTP
		Name:     cookieName(r),
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
}

// maxFormBytes is the maximum size of a form.
const maxFormBytes = 64 * 1024

// showLogin logs in by the token of the login link. If the token is refused, or the request may be a prefetch, it asks
// for a key. Without a token, it opens the overview if a user is already logged in, and otherwise asks for a key.
func (d *Dashboard) showLogin(w http.ResponseWriter, r *http.Request) {
	_, loggedIn := d.sessions.accountID(cookieValue(r))
	token := r.URL.Query().Get("token")
	if token == "" && loggedIn {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if token == "" || isPrefetch(r) {
		const noProblem = ""
		d.askForKey(w, r, http.StatusOK, noProblem)
		return
	}
	if !d.link.use(token, d.options.Now()) {
		d.askForKey(w, r, http.StatusForbidden, "This link is not valid, has expired or was already used. Log in with the API key.")
		return
	}
	d.startSession(w, r, d.options.FirstAccountID)
	// If the user came from another site, browsers may not send a strict cookie after a redirect. So the response is a
	// page that opens the overview.
	w.Header().Set("Refresh", "0; url=/")
	d.render(w, "welcome", http.StatusOK, &frame{Title: "Welcome"})
}

// isPrefetch reports whether the request may be a prefetch, which must not use up the login link.
func isPrefetch(r *http.Request) bool {
	if r.Method == http.MethodHead { // a route for GET also accepts HEAD
		return true
	}
	headers := []string{"Sec-Purpose", "Purpose", "X-Purpose"}
	return slices.ContainsFunc(headers, func(name string) bool { return r.Header.Get(name) != "" })
}

// startSession logs in to an account, and out of the previous one.
func (d *Dashboard) startSession(w http.ResponseWriter, r *http.Request, accountID int64) {
	d.sessions.end(cookieValue(r))
	started := d.sessions.start(accountID)
	setCookie(w, r, started)
}

// askForKey shows the login form, with a problem unless that is empty.
func (d *Dashboard) askForKey(w http.ResponseWriter, r *http.Request, status int, problem string) {
	query := url.Values{"next": {nextPath(r)}}
	d.render(w, "login", status, &frame{Title: "Log in", Problem: problem, Query: query})
}

// nextPath returns the path and query of the page to show after the login. They must not lead to another server.
func nextPath(r *http.Request) string {
	requested := cmp.Or(r.PostForm.Get("next"), r.URL.Query().Get("next"))
	next, err := url.Parse(requested)
	if err != nil || !isPage(next) {
		return "/"
	}
	// Browsers treat a backslash as a slash, and /\host as another server. RequestURI escapes it, so this is a precaution.
	if strings.Contains(next.Path, `\`) {
		return "/"
	}
	// Without a scheme and a host, the browser stays on this server.
	onThisServer := &url.URL{Path: next.Path, RawQuery: next.RawQuery}
	return onThisServer.RequestURI()
}

func (d *Dashboard) logIn(w http.ResponseWriter, r *http.Request) {
	if !d.parseForm(w, r) {
		return
	}
	key := strings.TrimSpace(r.PostForm.Get("key"))
	var user account.Account
	refused := d.options.Server.Read(r.Context(), func(tx *store.Tx) error {
		var err error
		user, err = account.ByKey(tx, key)
		return err
	})
	if refused != nil {
		d.showError(w, r, refused)
		return
	}
	if user.ID == 0 {
		d.askForKey(w, r, http.StatusForbidden, "No account has this API key. The server prints the key as VCARD_API_KEY when it starts.")
		return
	}
	d.startSession(w, r, user.ID)
	http.Redirect(w, r, nextPath(r), http.StatusSeeOther)
}

func (d *Dashboard) logOut(w http.ResponseWriter, r *http.Request) {
	d.sessions.end(cookieValue(r))
	setCookie(w, r, "") // deletes the cookie
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// parseForm reads the form of a request. If that fails, it shows an error and returns false.
func (d *Dashboard) parseForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	err := r.ParseForm()
	if err != nil {
		d.showError(w, r, wire.Invalid("the form could not be read, so nothing was done; it may be larger than %d KiB", maxFormBytes/1024))
		return false
	}
	return true
}
