package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// machine returns the name of the architecture with an ELF machine number. It is the GOARCH,
// except that byte orders and word sizes of ppc64 and mips share a name.
func machine(arch uint16) string {
	switch arch {
	case 3:
		return "386"
	case 8:
		return "mips"
	case 20:
		return "ppc"
	case 21:
		return "ppc64"
	case 22:
		return "s390x"
	case 40:
		return "arm"
	case 62:
		return "amd64"
	case 183:
		return "arm64"
	case 243:
		return "riscv64"
	case 258:
		return "loong64"
	}
	return fmt.Sprintf("machine type %d", arch)
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
	arch := machine(order.Uint16(h[18:]))
	if !sameMachine(arch, wide, little) {
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

// sameMachine reports whether a program for the architecture runs on this machine. It rejects
// 32-bit programs on most 64-bit machines, because the sandbox filters only one set of system
// calls.
func sameMachine(arch string, wide, little bool) bool {
	switch runtime.GOARCH {
	case "amd64", "arm64", "riscv64", "loong64", "s390x":
		return arch == runtime.GOARCH && wide
	case "ppc64le":
		return arch == "ppc64" && little
	case "mipsle", "mips64", "mips64le":
		return arch == "mips"
	}
	return arch == runtime.GOARCH
}
