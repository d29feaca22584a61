package delivery

import (
	"crypto/x509"
	"errors"
)

// Roots returns the system's certificate authorities and those in extra, which
// is PEM and may be empty.
func Roots(extra []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any; the extra ones still serve
	}
	if len(extra) > 0 && !pool.AppendCertsFromPEM(extra) {
		return nil, errors.New("the webhook CA holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
	}
	return pool, nil
}
