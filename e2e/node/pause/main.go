// The program waits until it is asked to end. It is what runs in the pods of tests, and what holds the namespaces of
// all pods.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	<-ended
}
