package report

import (
	"fmt"
	"maps"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Prices are what units cost for an hour, by resource name.
type Prices struct {
	// Currency is said beside costs.
	Currency string                          `json:"currency,omitempty"`
	Prices   map[corev1.ResourceName]float64 `json:"prices"`
}

// readPrices reads a file of prices, none if there is no file.
func readPrices(file string) (*Prices, error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	prices := &Prices{}
	if err := yaml.UnmarshalStrict(content, prices); err != nil {
		return nil, fmt.Errorf("--prices %s: must be prices by resource name, as the help shows: %w", file, err)
	}
	if len(prices.Prices) == 0 {
		return nil, fmt.Errorf("--prices %s: names no price: prices must have a resource name, such as requests.cpu: 0.03", file)
	}
	for _, name := range prices.names() {
		if price := prices.Prices[name]; price < 0 {
			return nil, fmt.Errorf("--prices %s: %s costs %v: must be 0 or more", file, name, price)
		}
	}
	return prices, nil
}

// names returns of what there are prices.
func (p *Prices) names() []corev1.ResourceName {
	if p == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.Prices))
}

// of returns what a unit costs for an hour, if that is known.
func (p *Prices) of(name corev1.ResourceName) (float64, bool) {
	if p == nil {
		return 0, false
	}
	price, known := p.Prices[name]
	return price, known
}
