//go:build linux

package statement_test

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkLargeFleet measures the built program on a plan of 10,000 cards. The bounds are
// ten times what was measured.
func BenchmarkLargeFleet(b *testing.B) {
	const longest, mostMemory = 25 * time.Second, 4_000 // MB
	for b.Loop() {
		command := largeStatement(b)
		if _, err := command.Output(); err != nil {
			b.Fatal(err)
		}
		usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			b.Fatal("the system tells no memory of a process")
		}
		spent := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		memory := usage.Maxrss / 1000
		b.ReportMetric(spent.Seconds(), "CPU-s")
		b.ReportMetric(float64(memory), "MB")
		if spent > longest || memory > mostMemory {
			b.Errorf("it took %s and %d MB, want at most %s and %d MB", spent, memory, longest, mostMemory)
		}
	}
}
