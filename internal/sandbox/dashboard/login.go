package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// maxForm is how many bytes a form may have.
const maxForm = 64 << 10

// showLogin asks for a key, or takes the link. What only looks ahead, as browsers
// and chat programs do, does not use the link up.
func (d *Dashboard) showLogin(w http.ResponseWriter, r *http.Request) {
	_, loggedIn := d.sessions.account(cookie(r))
	token := r.URL.Query().Get("token")
	switch {
	case token == "" && loggedIn:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case token == "" || r.Method != http.MethodGet || looksAhead(r.Header):
		d.askForKey(w, r, http.StatusOK, "")
	case !d.link.use(token):
		d.askForKey(w, r, http.StatusForbidden, "This link was used before, or is too old. Log in with the API key.")
	default:
		id, err := d.firstAccount(r)
		if err != nil {
			d.showError(w, r, err)
			return
		}
		d.begin(w, r, id)
		// Not a redirect: browsers keep a strict cookie from one that another site began.
		w.Header().Set("Refresh", "0; url=/")
		d.render(w, "welcome", http.StatusOK, &frame{Title: "Welcome"})
	}
}

// looksAhead tells whether nobody has opened the page yet, by what the browsers call it.
func looksAhead(h http.Header) bool {
	return h.Get("Sec-Purpose")+h.Get("Purpose")+h.Get("X-Purpose") != ""
}

func (d *Dashboard) firstAccount(r *http.Request) (id int64, refused *wire.Error) {
	refused = d.server.Read(r.Context(), func(tx *store.Tx) error {
		first, err := account.First(tx)
		id = first.ID
		return err
	})
	return id, refused
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
	refused := d.server.Read(r.Context(), func(tx *store.Tx) (err error) {
		by, err = account.ByKey(tx, strings.TrimSpace(r.PostForm.Get("key")))
		return err
	})
	switch {
	case refused != nil:
		d.showError(w, r, refused)
	case by.ID == 0:
		d.askForKey(w, r, http.StatusForbidden, "No account has this API key. The server printed it as VCARD_API_KEY.")
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
