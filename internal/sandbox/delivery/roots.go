package delivery

import (
	"crypto/x509"
	"errors"
)

// Roots returns the system's certificate authorities and those in extra, which
// is PEM. Without extra ones it returns nil, which stands for the system's.
func Roots(extra []byte) (*x509.CertPool, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any; the extra ones still serve
	}
	if !pool.AppendCertsFromPEM(extra) {
		return nil, errors.New("the webhook CA holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
	}
	return pool, nil
}
