package exec

import "testing"

func TestMachineDistinguishesWordSizesAndByteOrders(t *testing.T) {
	for _, test := range []struct {
		arch         uint16
		wide, little bool
		want         string
	}{
		{3, false, true, "386"},
		{8, false, false, "mips"},
		{8, false, true, "mipsle"},
		{8, true, false, "mips64"},
		{8, true, true, "mips64le"},
		{20, false, false, "ppc"},
		{21, true, false, "ppc64"},
		{21, true, true, "ppc64le"},
		{22, true, false, "s390x"},
		{22, false, false, "s390x with 32 bits"},
		{40, false, true, "arm"},
		{62, true, true, "amd64"},
		{62, false, true, "amd64 with 32 bits"}, // x32
		{183, true, true, "arm64"},
		{243, false, true, "riscv64 with 32 bits"},
		{258, true, true, "loong64"},
		{2, false, false, "machine type 2"},
	} {
		if got := machine(test.arch, test.wide, test.little); got != test.want {
			t.Errorf("machine(%d, %t, %t) = %q, want %q", test.arch, test.wide, test.little, got, test.want)
		}
	}
}
