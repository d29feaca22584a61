package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
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
	ip := target.Addr().Unmap().WithZone("")
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	isOwn := slices.ContainsFunc(own, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(ip.AsSlice())
	})
	isSpecial := slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(ip) })
	if isOwn || isSpecial || ip.IsPrivate() || !ip.IsGlobalUnicast() {
		return errLocal
	}
	return nil
}

// special are the further networks that are nobody's on the internet, or hold an
// IPv4 address that a gateway may lead to.
func special() []netip.Prefix {
	var all []netip.Prefix
	for _, network := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4", // RFC 6890
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
}
