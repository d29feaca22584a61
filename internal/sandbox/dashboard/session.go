package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// sessionTime is how long somebody stays logged in.
	sessionTime = 12 * time.Hour
	// linkTime is how long the link logs in.
	linkTime = 15 * time.Minute
	// maxSessions is how many there may be; the oldest makes room.
	maxSessions = 1000
)

// session is somebody who is logged in.
type session struct {
	accountID int64
	expires   time.Time
	notice    string // for the next page that is shown
}

// sessionKey is the hash of a cookie, so that looking one up tells nothing about it.
type sessionKey [sha256.Size]byte

// sessions are kept in memory: the end of the process logs everybody out.
type sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[sessionKey]*session
}

// begin logs in to an account and returns the cookie's value.
func (s *sessions) begin(accountID int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest sessionKey
	for key, other := range s.all {
		if !other.expires.After(now) {
			delete(s.all, key)
		} else if first := s.all[oldest]; first == nil || other.expires.Before(first.expires) {
			oldest = key
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
	value := rand.Text()
	s.all[sha256.Sum256([]byte(value))] = &session{accountID: accountID, expires: now.Add(sessionTime)}
	return value
}

// account returns the account that a cookie is logged in to.
func (s *sessions) account(value string) (id int64, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[sha256.Sum256([]byte(value))]; one != nil && one.expires.After(s.now()) {
		id, found = one.accountID, true
	}
	return id, found
}

func (s *sessions) end(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(value)))
}

// leave keeps a notice for the next page.
func (s *sessions) leave(value, notice string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[sha256.Sum256([]byte(value))]; one != nil {
		one.notice = notice
	}
}

// take returns what was left, once.
func (s *sessions) take(value string) (notice string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[sha256.Sum256([]byte(value))]; one != nil {
		notice, one.notice = one.notice, ""
	}
	return notice
}

// link logs in without a key, once.
type link struct {
	token   string
	expires time.Time
	now     func() time.Time

	mu   sync.Mutex
	used bool
}

func newLink(now func() time.Time) *link {
	return &link{token: rand.Text(), expires: now().Add(linkTime), now: now}
}

// use tells whether a token is the link's, and the link still good. It is not
// good any more afterwards.
func (l *link) use(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	good := subtle.ConstantTimeCompare([]byte(token), []byte(l.token)) == 1 && !l.used && l.now().Before(l.expires)
	l.used = l.used || good
	return good
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

// token is what forms carry: only a page that was sent to the cookie's browser
// can know it.
func (d *Dashboard) token(cookie string) string {
	mac := hmac.New(sha256.New, d.secret)
	mac.Write([]byte(cookie))
	return hex.EncodeToString(mac.Sum(nil))
}

// isOurs tells whether a form was sent from a page of ours.
func (d *Dashboard) isOurs(r *http.Request) bool {
	value := cookie(r)
	return value != "" && hmac.Equal([]byte(r.PostForm.Get("token")), []byte(d.token(value)))
}
