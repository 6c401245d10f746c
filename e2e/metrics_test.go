package e2e_test

import (
	"context"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// metrics returns the lines of an API server's metrics.
func metrics(ctx context.Context, c *fleet.ControlPlane) ([]string, error) {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	body, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	return strings.Split(string(body), "\n"), err
}

// lastNumber is the value of a line of metrics.
func lastNumber(line string) int {
	value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
	if err != nil {
		return 0
	}
	return int(value)
}
