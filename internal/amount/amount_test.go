package amount_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
)

func TestFromQuantity(t *testing.T) {
	tests := map[string]struct {
		name     corev1.ResourceName
		quantity string
		rounding amount.Rounding
		want     int64
		wantErr  string
	}{
		"cpu counts in thousandths":             {name: "requests.cpu", quantity: "1500m", want: 1500},
		"a budget rounds down":                  {name: "cpu", quantity: "1500u", want: 1},
		"usage rounds up":                       {name: "limits.cpu", quantity: "1500u", rounding: amount.Up, want: 2},
		"bytes count in ones":                   {name: "requests.memory", quantity: "400Gi", want: 400 << 30},
		"half a byte rounds down":               {name: "memory", quantity: "500m", want: 0},
		"half a byte rounds up":                 {name: "memory", quantity: "500m", rounding: amount.Up, want: 1},
		"bytes beyond what milli can hold":      {name: "requests.storage", quantity: "8000Pi", want: 8000 << 50},
		"the largest byte count":                {name: "memory", quantity: "9223372036854775806", want: math.MaxInt64 - 1},
		"the largest cpu":                       {name: "cpu", quantity: "9223372036854775806m", want: math.MaxInt64 - 1},
		"too many bytes":                        {name: "memory", quantity: "9223372036854775808", wantErr: "9223372036854775808 is too large: must be at most 9223372036854775806"},
		"more bytes than a quantity can hold":   {name: "memory", quantity: "10Ei", wantErr: "9223372036854775807 is too large: must be at most 9223372036854775806"},
		"too much cpu":                          {name: "cpu", quantity: "9223372036854775808m", wantErr: "9223372036854775808m is too large: must be at most 9223372036854775806m"},
		"negative":                              {name: "pods", quantity: "-1", wantErr: "-1 is negative: must be 0 or more"},
		"a fraction of a gpu is not handed out": {name: "requests.nvidia.com/gpu", quantity: "0.5", want: 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := amount.FromQuantity(tc.name, resource.MustParse(tc.quantity), tc.rounding)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(tc.wantErr, message); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestToListKeepsTheUsersFormat(t *testing.T) {
	like := corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("1"), "pods": resource.MustParse("1e3")}
	got := amount.List{"memory": 512 << 20, "cpu": 2500, "pods": 2000}.ToList(like)
	want := map[corev1.ResourceName]string{"memory": "512Mi", "cpu": "2500m", "pods": "2e3"}
	for name, q := range got {
		if q.String() != want[name] {
			t.Errorf("%s: got %s, want %s", name, q.String(), want[name])
		}
	}
}

func TestQuantityRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]corev1.ResourceName{"cpu", "requests.cpu", "memory", "pods", "requests.nvidia.com/gpu"}).Draw(t, "name")
		value := rapid.Int64Range(0, amount.Limit).Draw(t, "value")
		format := rapid.SampledFrom([]resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent, ""}).Draw(t, "format")
		q := amount.ToQuantity(name, value, format)
		parsed := resource.MustParse(q.String())
		for _, rounding := range []amount.Rounding{amount.Down, amount.Up} {
			if got, err := amount.FromQuantity(name, parsed, rounding); err != nil || got != value {
				t.Fatalf("%d became %s became %d (%v)", value, q.String(), got, err)
			}
		}
	})
}

func TestLists(t *testing.T) {
	a, b := amount.List{"cpu": 3, "pods": 1}, amount.List{"cpu": 2, "memory": 5}
	most := amount.List{"cpu": math.MaxInt64}
	tests := map[string]struct {
		got, want amount.List
	}{
		"the larger":              {got: amount.Max(a, b), want: amount.List{"cpu": 3, "pods": 1, "memory": 5}},
		"the larger of nothing":   {got: amount.Max(nil, b), want: b},
		"the sum":                 {got: amount.Sum(a, b), want: amount.List{"cpu": 5, "pods": 1, "memory": 5}},
		"the sum with nothing":    {got: amount.Sum(nil, b), want: b},
		"the sum of nothing":      {got: amount.Sum(nil, nil), want: amount.List{}},
		"a sum that does not fit": {got: amount.Sum(a, most), want: amount.List{"cpu": math.MaxInt64, "pods": 1}},
		"less":                    {got: amount.Sub(a, b), want: amount.List{"cpu": 1, "pods": 1}},
		"less than nothing":       {got: amount.Sub(b, a), want: amount.List{"cpu": 0, "memory": 5}},
		"many times":              {got: a.Times(3), want: amount.List{"cpu": 9, "pods": 3}},
		"no times":                {got: most.Times(0), want: amount.List{"cpu": 0}},
		"once the most":           {got: most.Times(1), want: most},
		"more than fits":          {got: a.Times(math.MaxInt64 / 2), want: amount.List{"cpu": math.MaxInt64, "pods": math.MaxInt64 / 2}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(amount.List{"cpu": 3, "pods": 1}, a); diff != "" {
		t.Errorf("what was added to changed (-want +got):\n%s", diff)
	}
}

func TestIsZero(t *testing.T) {
	for name, tc := range map[string]struct {
		list amount.List
		want bool
	}{
		"of nothing":      {want: true},
		"of no amount":    {list: amount.List{"cpu": 0, "pods": 0}, want: true},
		"of a single one": {list: amount.List{"cpu": 0, "pods": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.list.IsZero(); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestUnits(t *testing.T) {
	list := amount.List{"cpu": 7, "pods": 3}
	for name, tc := range map[string]struct {
		unit             amount.List
		fitting, filling int64
	}{
		"one name binds":            {unit: amount.List{"cpu": 2, "pods": 1}, fitting: 3, filling: 4},
		"it fits exactly":           {unit: amount.List{"pods": 3}, fitting: 1, filling: 1},
		"more than there is":        {unit: amount.List{"cpu": 8}, filling: 1},
		"of what the list lacks":    {unit: amount.List{"memory": 1}},
		"of nothing, and of a name": {unit: amount.List{"memory": 0, "pods": 1}, fitting: 3, filling: 3},
		"of nothing":                {fitting: math.MaxInt64},
		"the largest":               {unit: amount.List{"cpu": math.MaxInt64}, filling: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if fitting, filling := list.Fitting(tc.unit), list.Filling(tc.unit); fitting != tc.fitting || filling != tc.filling {
				t.Errorf("%d fit and %d fill it, want %d and %d", fitting, filling, tc.fitting, tc.filling)
			}
		})
	}
}
