//go:build e2e

package e2e_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// switchboard leads connections to one of several servers, as a Service does: whichever it is set to.
type switchboard struct {
	net.Listener

	mutex  sync.Mutex
	target string
	// open is the ends of all connections, and whether each leads to the server.
	open map[net.Conn]bool
}

func newSwitchboard(t *testing.T) *switchboard {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &switchboard{Listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		s.to(0)
	})
	go func() {
		for {
			incoming, err := listener.Accept()
			if err != nil {
				return
			}
			go s.connect(incoming)
		}
	}()
	return s
}

// to sets the server by its port, and ends the connections there are.
func (s *switchboard) to(port int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.target = fmt.Sprintf("127.0.0.1:%d", port)
	for conn := range s.open {
		_ = conn.Close()
	}
}

// halfClose ends one direction of the connections there are, and leaves the other open. It returns of how many.
func (s *switchboard) halfClose(toServer bool) (count int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for conn, leadsToServer := range s.open {
		if leadsToServer == toServer && conn.(*net.TCPConn).CloseWrite() == nil {
			count++
		}
	}
	return count
}

func (s *switchboard) connect(incoming net.Conn) {
	s.mutex.Lock()
	outgoing, err := net.Dial("tcp", s.target) //nolint:noctx // a server of this machine answers at once or not at all
	if err != nil {
		s.mutex.Unlock()
		_ = incoming.Close()
		return
	}
	s.open[incoming], s.open[outgoing] = false, true
	s.mutex.Unlock()
	var both sync.WaitGroup
	both.Go(func() { pipe(outgoing, incoming) })
	both.Go(func() { pipe(incoming, outgoing) })
	both.Wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, conn := range []net.Conn{incoming, outgoing} {
		_ = conn.Close()
		delete(s.open, conn)
	}
}

// pipe copies until one end sends no more, and says so to the other, which may go on to send.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.(*net.TCPConn).CloseWrite()
}
