package dashboard

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"path"
	"strings"
	"time"
)

// download writes all of a list. It is read part by part, in one snapshot.
func (d *Dashboard) download(w http.ResponseWriter, r *http.Request, p *page, accountID int64) {
	var b bytes.Buffer
	file := csv.NewWriter(&b)
	_ = file.Write(p.csv) // to memory
	f, refused := d.read(r, p, accountID, nil, func(_ *frame, v *view) error {
		for v.csv = 1; ; v.csv++ {
			v.rows = nil
			if _, err := p.read(v); err != nil {
				return err
			}
			_ = file.WriteAll(v.rows) // as above
			if len(v.rows) < csvSize {
				return nil
			}
		}
	})
	switch {
	case refused != nil:
		d.showError(w, r, refused)
		return
	case f == nil:
		d.sendToLogin(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment; filename=\""+path.Base(p.Path)+".csv\"")
	_, _ = w.Write(b.Bytes()) // nobody to tell when the reader went away
}

// cell keeps a spreadsheet from taking what somebody wrote for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
