// Package address distinguishes public Internet hosts from this machine and its networks.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// IsLoopbackName reports whether a host, with or without a port, is this machine.
func IsLoopbackName(host string) bool {
	name := hostname(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// IsLocalName reports whether a host is this machine or a link-local address.
func IsLocalName(host string) bool {
	return IsLoopbackName(host) || errors.Is(CheckRouted(host), ErrLocal)
}

// IsPublicName reports whether a host can be public, going by its name alone.
func IsPublicName(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(hostname(host), "."))
	if addr, err := netip.ParseAddr(name); err == nil {
		return IsPublic(addr)
	}
	// Some resolvers still accept a number, or a name that ends in a number, as an address.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return false
	}
	return last != "localhost" && last != "local" && last != "internal"
}

// hostname removes the port and the brackets from an address.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// private are the networks that are not public, in addition to those known to package netip.
var private = []string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2002::/16", "fec0::/10",
}

// IsPublic reports whether addr is a public Internet address.
func IsPublic(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return false
	}
	for _, text := range private {
		if netip.MustParsePrefix(text).Contains(addr) {
			return false
		}
	}
	return true
}

// ErrNotPublic reports a host with an address that is not public.
var ErrNotPublic = errors.New("it resolves to a local or private address")

// CheckPublic returns an error if an address is not public.
func CheckPublic(address string) error {
	addr, err := netip.ParseAddr(hostname(address))
	if err != nil || !IsPublic(addr) {
		return fmt.Errorf("%s: %w", address, ErrNotPublic)
	}
	return nil
}

// ErrLocal reports a host with a local address, which only the user may refer to.
var ErrLocal = errors.New("it resolves to this machine or to a link-local address")

// CheckRouted returns an error for an address of this machine or a link-local address.
func CheckRouted(address string) error {
	addr, err := netip.ParseAddr(hostname(address))
	if addr = addr.Unmap(); err == nil && (addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()) {
		return fmt.Errorf("%s: %w", address, ErrLocal)
	}
	return err
}
