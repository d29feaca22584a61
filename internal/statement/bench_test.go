//go:build linux

package statement_test

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkLargeFleet measures the built program with a plan of 10,000 cards. The limits leave much room for slow machines.
func BenchmarkLargeFleet(b *testing.B) {
	const (
		maxTime   = 25 * time.Second // of the CPU
		maxMemory = 4_000            // MB
	)
	for b.Loop() {
		command := largeStatement(b)
		if _, err := command.Output(); err != nil {
			b.Fatal(err)
		}
		usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			b.Fatal("the system does not report the memory of a process")
		}
		cpuTime := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		memory := usage.Maxrss / 1000 // from kB to MB
		b.ReportMetric(cpuTime.Seconds(), "CPU-s")
		b.ReportMetric(float64(memory), "MB")
		if cpuTime > maxTime || memory > maxMemory {
			b.Errorf("it took %s and %d MB, want at most %s and %d MB", cpuTime, memory, maxTime, maxMemory)
		}
	}
}
