package command

import (
	"container/list"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
)

const (
	// maxConnections is how many callers may be connected.
	maxConnections = 10_000
	// otherFiles is how many files are left for everything else.
	otherFiles = 512
	// collectEvery is how many connections more have the garbage collected.
	collectEvery = 500
)

// connections closes those that have been idle longest when there are too many.
type connections struct {
	most int

	mu   sync.Mutex
	open map[net.Conn]*list.Element // nil while a request runs
	idle list.List                  // the longest first
}

func newConnections() *connections {
	files := maxFiles()
	// Where few may be open, callers and all else share them.
	return &connections{most: min(maxConnections, max(files-otherFiles, files/2)), open: map[net.Conn]*list.Element{}}
}

// changed is the ConnState of an http.Server.
func (c *connections) changed(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.open[connection]; element != nil {
		c.idle.Remove(element)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[connection] = c.idle.PushBack(connection)
		if state == http.StateNew && len(c.open)%collectEvery == 0 {
			go debug.FreeOSMemory() // idle connections keep the stacks of their last requests until then
		}
	case http.StateActive:
		c.open[connection] = nil
	case http.StateHijacked, http.StateClosed:
		delete(c.open, connection)
	}
	if oldest := c.idle.Front(); len(c.open) > c.most && oldest != nil {
		_ = oldest.Value.(net.Conn).Close() //nolint:forcetypeassert // there is nothing else in it
		c.idle.Remove(oldest)
		c.open[oldest.Value.(net.Conn)] = nil //nolint:forcetypeassert // as above
	}
}
