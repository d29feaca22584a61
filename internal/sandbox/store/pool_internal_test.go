package store

import "testing"

func TestFileURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		`/var/lib/cards/s.db`:       "file:///var/lib/cards/s.db",
		`/tmp/50% off?/#1 \ two.db`: "file:///tmp/50%25%20off%3F/%231%20%5C%20two.db",
		`/tmp/Größe.db`:             "file:///tmp/Gr%C3%B6%C3%9Fe.db",
		`C:\Users\Ann Lee\s.db`:     "file:///C:/Users/Ann%20Lee/s.db",
		`C:\50%\a#b.db`:             "file:///C:/50%25/a%23b.db",
		`\\server\share\cards\s.db`: "file:////server/share/cards/s.db",
		`D:\s.db`:                   "file:///D:/s.db",
	} {
		separator := '/'
		if path[0] != '/' {
			separator = '\\'
		}
		if got := fileURI(path, separator); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
