package record

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fedquota/fedquota/internal/amount"
)

const (
	// mostBytes is how large what is stored may be, and mostRead how large it may be before it is compressed.
	mostBytes = 512 << 10
	mostRead  = 64 << 20
	// Others is what clusters are called together that are too many to be stored one by one.
	Others = "(others)"
)

// Encode returns a month as it is stored. If that is too large, hours are stored as days, and then the clusters that
// used least as one.
func (m *Month) Encode() ([]byte, error) {
	content, err := m.encode()
	if len(content) > mostBytes {
		m.Close()
		content, err = m.encode()
	}
	for err == nil && len(content) > mostBytes && m.fold() {
		content, err = m.encode()
	}
	return content, err
}

// writers are used again: one has 800 kB, and a record of a small budget less than one.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func (m *Month) encode() ([]byte, error) {
	var buffer bytes.Buffer
	writer := writers.Get().(*gzip.Writer)
	defer writers.Put(writer)
	writer.Reset(&buffer)
	if err := json.NewEncoder(writer).Encode(m); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// Decode returns a month that was stored.
func Decode(content []byte) (*Month, error) {
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("a record cannot be read: %w", err)
	}
	m := &Month{}
	if err := json.NewDecoder(io.LimitReader(reader, mostRead)).Decode(m); err != nil {
		return nil, fmt.Errorf("a record cannot be read: %w", err)
	}
	if err := m.complete(); err != nil {
		return nil, fmt.Errorf("a record cannot be read: %w", err)
	}
	return m, nil
}

// complete makes what is left out where it is empty, so that all of a month can be added to. It fails if the month is
// none that was ever encoded.
func (m *Month) complete() error {
	if begin, end := StartOf(m.From); m.Until.Before(begin) || m.Until.After(end) {
		return fmt.Errorf("it is from %s until %s, and of one month", m.From, m.Until)
	}
	sums := []*ByName{&m.Total}
	for name, c := range m.Clusters {
		if c == nil {
			return fmt.Errorf("cluster %q has nothing", name)
		}
		sums = append(sums, &c.Sums)
	}
	for i, span := range m.Spans {
		if span == nil {
			return fmt.Errorf("span %d has nothing", i)
		}
		sums = append(sums, &span.Sums)
	}
	for _, byName := range sums {
		if *byName == nil {
			*byName = ByName{}
		}
		maps.DeleteFunc(*byName, func(_ corev1.ResourceName, s *Sums) bool { return s == nil })
	}
	if m.Clusters == nil {
		m.Clusters = map[string]*Cluster{}
	}
	return m.Level.complete()
}

// complete fails if the level does not have an amount for each name.
func (l *Level) complete() error {
	if l == nil {
		return nil
	}
	if len(l.Total) != len(l.Names) {
		return fmt.Errorf("its level has %d names and %d amounts", len(l.Names), len(l.Total))
	}
	for i := range l.Clusters {
		if h := &l.Clusters[i]; len(h.Amounts) != len(l.Names) {
			return fmt.Errorf("its level has %d names, and %d amounts of cluster %q", len(l.Names), len(h.Amounts), h.Name)
		}
	}
	return nil
}

// fold makes one of the half of the clusters that used least, and says whether there was more than one.
func (m *Month) fold() bool {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m.Clusters)), func(name string) bool { return name == Others })
	if len(names) < 2 {
		return false
	}
	slices.SortStableFunc(names, func(a, b string) int { return m.Clusters[a].compare(m.Clusters[b]) })
	folded := sets.New(Others)
	for _, name := range names[:(len(names)+1)/2] {
		folded.Insert(name)
		others, c := m.cluster(Others), m.Clusters[name]
		others.Unobserved = max(others.Unobserved, c.Unobserved)
		others.Sums.add(c.Sums)
		delete(m.Clusters, name)
	}
	m.Level = m.Level.folded(folded)
	return true
}

// compare orders clusters by what they used and were granted of the first name in which they differ.
func (c *Cluster) compare(other *Cluster) int {
	for _, name := range slices.Sorted(maps.Keys(c.Sums)) {
		a, b := c.Sums[name], cmp.Or(other.Sums[name], &Sums{})
		if order := cmp.Or(cmp.Compare(a.Used, b.Used), cmp.Compare(a.Granted, b.Granted)); order != 0 {
			return order
		}
	}
	return 0
}

// folded returns the level with one holding of some clusters.
func (l *Level) folded(clusters sets.Set[string]) *Level {
	if l == nil {
		return nil
	}
	folded := &Level{Names: l.Names, Total: l.Total}
	others := Holding{Name: Others, Amounts: make([]Amounts, len(l.Names))}
	for _, holding := range l.Clusters {
		if !clusters.Has(holding.Name) {
			folded.Clusters = append(folded.Clusters, holding)
			continue
		}
		for j, a := range holding.Amounts {
			o := &others.Amounts[j]
			*o = Amounts{
				amount.Add(o.Budget, a.Budget), amount.Add(o.Granted, a.Granted),
				amount.Add(o.Used, a.Used), amount.Add(o.Demand, a.Demand),
			}
		}
	}
	folded.Clusters = append(folded.Clusters, others)
	return folded
}

// digits is how many digits of a number are stored. A month is stored some 700 times until it is over.
const digits = 8

// MarshalJSON writes the numbers as a list, without the zeros at its end.
func (s *Sums) MarshalJSON() ([]byte, error) {
	return list(s.Budget, s.Granted, s.Used, s.Demand, s.Peak, s.Waited, s.Lends, s.Lent), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Sums) UnmarshalJSON(content []byte) error {
	var numbers []float64
	if err := json.Unmarshal(content, &numbers); err != nil {
		return err
	}
	for i, field := range []*float64{&s.Budget, &s.Granted, &s.Used, &s.Demand, &s.Peak, &s.Waited, &s.Lends, &s.Lent} {
		if i < len(numbers) {
			*field = numbers[i]
		}
	}
	return nil
}

// list writes numbers as a list, each with as many digits as are stored, without the zeros at its end.
func list(numbers ...float64) []byte {
	for len(numbers) > 0 && numbers[len(numbers)-1] == 0 {
		numbers = numbers[:len(numbers)-1]
	}
	content := []byte{'['}
	for i, number := range numbers {
		if i > 0 {
			content = append(content, ',')
		}
		content = strconv.AppendFloat(content, number, 'g', digits, 64)
	}
	return append(content, ']')
}

// MarshalJSON writes the amounts as a list.
func (a Amounts) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int64{a.Budget, a.Granted, a.Used, a.Demand})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Amounts) UnmarshalJSON(content []byte) error {
	var numbers [4]int64
	if err := json.Unmarshal(content, &numbers); err != nil {
		return err
	}
	*a = Amounts{numbers[0], numbers[1], numbers[2], numbers[3]}
	return nil
}
