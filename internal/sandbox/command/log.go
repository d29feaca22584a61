package command

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	// maxLines is how many lines of the log wait to be written.
	maxLines = 1024
	// logTime is how long the end of the process waits for the last lines.
	logTime = time.Second
)

// logWriter writes lines in the background, to something that may take none: a
// pipe that nobody reads. Lines that do not fit are dropped, and counted.
type logWriter struct {
	to      io.Writer
	lines   chan []byte
	dropped atomic.Int64
	stop    chan struct{}
	stopped chan struct{}
}

func newLogWriter(to io.Writer) *logWriter {
	w := &logWriter{
		to: to, lines: make(chan []byte, maxLines),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.run()
	return w
}

// Write never blocks and never fails.
func (w *logWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.dropped.Add(1)
	}
	return len(line), nil
}

func (w *logWriter) run() {
	defer crash.End()
	defer close(w.stopped)
	for {
		select {
		case line := <-w.lines:
			w.write(line)
			continue
		default:
		}
		select {
		case line := <-w.lines:
			w.write(line)
		case <-w.stop:
			return
		}
	}
}

func (w *logWriter) write(line []byte) {
	_, _ = w.to.Write(line)
	if dropped := w.dropped.Swap(0); dropped > 0 {
		_, _ = fmt.Fprintf(w.to, "level=WARN msg=\"%d lines of the log were dropped, since nobody read them in time\"\n", dropped)
	}
}

// close returns when every line is written, or after a while.
func (w *logWriter) close() {
	close(w.stop)
	select {
	case <-w.stopped:
	case <-time.After(logTime):
	}
}
