package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// machine returns the GOARCH of programs with an ELF machine number, word size and byte order. A
// 32-bit program for a 64-bit architecture has a different name, so that it is refused: the sandbox
// filters one set of system calls.
func machine(arch uint16, wide, little bool) string {
	switch arch {
	case 3:
		return "386"
	case 8:
		return ordered("mips", wide, little)
	case 20:
		return "ppc"
	case 21:
		return ordered("ppc", wide, little)
	case 40:
		return "arm"
	}
	name, ok := map[uint16]string{22: "s390x", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64"}[arch]
	switch {
	case !ok:
		return fmt.Sprintf("machine type %d", arch)
	case !wide:
		return name + " with 32 bits"
	}
	return name
}

// ordered returns the GOARCH of an architecture that exists with several word sizes and byte
// orders.
func ordered(name string, wide, little bool) string {
	if wide {
		name += "64"
	}
	if little {
		name += "le"
	}
	return name
}

// inspectELF checks the architecture and the existence of the dynamic linker.
func (p *program) inspectELF() error {
	h := p.Head
	if len(h) < 64 {
		return errors.New("is truncated: it ends within its header")
	}
	wide, little := h[4] == 2, h[5] == 1
	var order binary.ByteOrder = binary.BigEndian
	if little {
		order = binary.LittleEndian
	}
	if arch := machine(order.Uint16(h[18:]), wide, little); arch != runtime.GOARCH {
		return fmt.Errorf("is a program for %s, but this machine is %s", arch, runtime.GOARCH)
	}
	kind := order.Uint16(h[16:])
	if kind != 2 && kind != 3 {
		return errors.New("is an object file, not a program")
	}
	at, size, count := uint64(order.Uint32(h[28:])), int(order.Uint16(h[42:])), int(order.Uint16(h[44:]))
	if wide {
		at, size, count = order.Uint64(h[32:]), int(order.Uint16(h[54:])), int(order.Uint16(h[56:]))
	}
	entry := order.Uint32(h[24:]) != 0
	for i := range count {
		begin := at + uint64(i*size)
		if begin > uint64(len(h)) || begin+uint64(size) > uint64(len(h)) || size < 32 {
			return errors.New("is truncated or damaged: its program headers are missing")
		}
		ph := h[begin : begin+uint64(size)]
		const interp = 3
		if order.Uint32(ph) != interp {
			continue
		}
		off, n := uint64(order.Uint32(ph[4:])), uint64(order.Uint32(ph[16:]))
		if wide && size >= 56 {
			off, n = order.Uint64(ph[8:]), order.Uint64(ph[32:])
		}
		if off > uint64(len(h)) || n > uint64(len(h))-off {
			return errors.New("is truncated or damaged: the name of its dynamic linker is missing")
		}
		return p.need("the dynamic linker", strings.TrimRight(string(h[off:off+n]), "\x00"))
	}
	if kind == 3 && !entry {
		return errors.New("is a shared library, not a program: functions are programs that read a ResourceList")
	}
	return nil
}
