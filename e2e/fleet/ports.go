package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
)

const (
	// Linux gives outgoing connections ports from 32768 up, unless told otherwise: a port below is still free when
	// a process that had it comes back.
	firstPort = 20000
	lastPort  = 32767

	portTries = 5
)

// given are the ports that FreePort has returned: whoever got one may not listen yet, or be down for a while.
var given sync.Map

// FreePort returns a loopback port that nobody listens on now, and that it has not returned before.
func FreePort(ctx context.Context) (int, error) {
	err := errors.New("all that were tried are given to others")
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		var listener net.Listener
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

// startOnFreePort starts the command that build makes for a port, on another port if somebody was faster.
func (c *ControlPlane) startOnFreePort(ctx context.Context, build func(port int) (command, error)) (int, error) {
	for try := 1; ; try++ {
		port, err := FreePort(ctx)
		if err != nil {
			return 0, err
		}
		command, err := build(port)
		if err != nil {
			return 0, err
		}
		p, err := c.startProcess(ctx, command)
		if err == nil || try == portTries || !strings.Contains(p.tail(), "address already in use") {
			return port, err
		}
	}
}

// url is the address of a server of the control plane at a port.
func (c *ControlPlane) url(port int) string {
	return "https://" + net.JoinHostPort(c.address, strconv.Itoa(port))
}
