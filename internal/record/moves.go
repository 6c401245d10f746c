package record

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Move is one of a limit. Moves of one instant belong together: who gives is among them, and who takes.
type Move struct {
	Time     time.Time           `json:"t"`
	Resource corev1.ResourceName `json:"r"`
	Cluster  string              `json:"c"`
	// From and To are quantities, as people write them.
	From string `json:"f"`
	To   string `json:"o"`
	// Why is the reason, empty where that is not known.
	Why string `json:"w,omitempty"`
}

// Moved counts moves that are no longer listed.
type Moved struct {
	Resource corev1.ResourceName `json:"r"`
	Why      string              `json:"w,omitempty"`
	Count    int64               `json:"n"`
}

// Moves are those of a month, the first one first.
type Moves struct {
	List []Move `json:"list,omitempty"`
	// Earlier count those before the list.
	Earlier []Moved `json:"earlier,omitempty"`
}

// mostMoves is how many moves are listed.
const mostMoves = 500

// Add adds moves that are later than all others.
func (m *Moves) Add(moves ...Move) {
	m.List = append(m.List, moves...)
	excess := max(0, len(m.List)-mostMoves)
	for _, move := range m.List[:excess] {
		m.count(Moved{move.Resource, move.Why, 1})
	}
	m.List = m.List[excess:]
}

// count adds to the moves that are no longer listed.
func (m *Moves) count(moved Moved) {
	for i := range m.Earlier {
		if e := &m.Earlier[i]; e.Resource == moved.Resource && e.Why == moved.Why {
			e.Count += moved.Count
			return
		}
	}
	m.Earlier = append(m.Earlier, moved)
}

func (m *Moves) add(more *Moves) {
	for _, moved := range more.Earlier {
		m.count(moved)
	}
	m.Add(more.List...)
}
