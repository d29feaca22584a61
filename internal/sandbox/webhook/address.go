package webhook

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
)

// errLocal does not say what is at the address.
var errLocal = errors.New("its address is private or this machine's own, which the sandbox does not call while it listens to the network; --allow-private-webhooks has it do so")

// refuseLocal is asked of every connection, once its name is an address.
func refuseLocal(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := target.Addr().Unmap()
	shared := netip.MustParsePrefix("100.64.0.0/10") // RFC 6598
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || shared.Contains(ip) {
		return errLocal
	}
	return nil
}
