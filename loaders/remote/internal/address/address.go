// Package address tells the hosts of the Internet from this machine and its networks.
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

// IsLocalName reports whether a host is this machine, or an address that no router passes on.
func IsLocalName(host string) bool {
	return IsLoopbackName(host) || errors.Is(CheckRouted(host), ErrLocal)
}

// IsPublicName reports whether a host can be one of the Internet, as far as its name tells.
func IsPublicName(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(hostname(host), "."))
	if addr, err := netip.ParseAddr(name); err == nil {
		return IsPublic(addr)
	}
	// A number, and anything that ends in one, is an address in a form that resolvers still know.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return false
	}
	return last != "localhost" && last != "local" && last != "internal"
}

// hostname cuts off the port and the brackets of an address.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// private are the networks that are none of the Internet, beyond those that package netip knows.
var private = []string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2002::/16", "fec0::/10",
}

// IsPublic reports whether addr is one of the Internet.
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

// ErrNotPublic says that a name leads to an address which must not be reached.
var ErrNotPublic = errors.New("it leads to an address of this machine or its networks")

// CheckPublic refuses an address that is none of the Internet.
func CheckPublic(address string) error {
	addr, err := netip.ParseAddr(hostname(address))
	if err != nil || !IsPublic(addr) {
		return fmt.Errorf("%s: %w", address, ErrNotPublic)
	}
	return nil
}

// ErrLocal says that a name leads to an address which only the user may name.
var ErrLocal = errors.New("it leads to this machine, or to an address that no router passes on")

// CheckRouted refuses an address of this machine, and one that no router passes on.
func CheckRouted(address string) error {
	addr, err := netip.ParseAddr(hostname(address))
	if addr = addr.Unmap(); err == nil && (addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()) {
		return fmt.Errorf("%s: %w", address, ErrLocal)
	}
	return err
}
