package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestExplainUnanswered sees that who reaches no API server is told which flags say where it is.
func TestExplainUnanswered(t *testing.T) {
	err := fmt.Errorf("listing: %w", &url.Error{Op: "Get", URL: "https://127.0.0.1:1/api", Err: errors.New("connection refused")})
	if got := Explain(err); !strings.Contains(got, "127.0.0.1:1") || !strings.Contains(got, "--context") {
		t.Errorf("it says %q", got)
	}
}
