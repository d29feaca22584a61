package webhook

import (
	"strings"
	"testing"
)

// An address often contains a token, so no message repeats it.
func TestHTTPSURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ address, want string }{
		{"https://hooks.example.com", ""},
		{"https://hooks.example.com:65535/hush?next=https://example.org", ""},
		{"http://hooks.example.com/t/hush", "starts with http:"},
		{"hooks.example.com/t/hush", "without a scheme"},
		{"https:///hush", "without a host"},
		{"https://%zz hush", "not an address"},
		{"https://hooks.example.com:65536/hush", "a port that is not between 1 and 65535"},
		{"https://hooks.example.com:0/hush", "a port that is not between 1 and 65535"},
		{"HTTPS://hooks.example.com/hush", "a scheme that is not in lower case"},
		{"https://hooks.example.com/t/ hush", "with a space."},
		{"https://hooks.example.com/$HUSH/hush", "with a $"},
		{"https://https://hooks.example.com/hush", "a second scheme"},
		{"https://me:hush@hooks.example.com/", "a user name or a password"},
		{"https://hooks.example.com/hush\u00a0", "spaces or line breaks around it"},
		{"https://hooks.example.com/hush#", "a fragment (#)"},
	} {
		problem := checkHTTPSURL(test.address)
		wronglyRefused := test.want == "" && problem != ""
		if wronglyRefused || !strings.Contains(problem, test.want) {
			t.Errorf("%s: got %q, want %q", test.address, problem, test.want)
		}
		if strings.Contains(problem, "hush") {
			t.Errorf("%s: the message repeats the address: %q", test.address, problem)
		}
	}
}
