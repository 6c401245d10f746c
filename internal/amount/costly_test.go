package amount_test

import (
	"strings"
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
)

func TestCostly(t *testing.T) {
	for value, want := range map[string]bool{
		`"1e99999999"`: true, `1e99999999`: true, `"1\u0065-99999999"`: true, `"1e\u0039\u0039\u0039\u0039"`: true, `".5E+99999999"`: true,
		`"` + strings.Repeat("9", 100) + `"`: true, strings.Repeat("9", 1000): true, `"7e4123"`: true,
		`"1e99"`: false, `"release123"`: false, `"5"`: false, `1e20`: false, `"e1000"`: false, `"7d4f5986f7e123"`: false,
		`"\u0065"`: false, `"1\"e1000"`: false, `"100500u"`: false, `null`: false, `{`: false,
	} {
		if got := amount.Costly([]byte(`{"a":[` + value + `]}`)); got != want {
			t.Errorf("%.30s: %t, want %t", value, got, want)
		}
	}
}
