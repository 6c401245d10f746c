package members

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Memory is what a controller knows of each member, by the name of its Cluster. Its zero value is ready to use.
type Memory[T any] struct {
	mutex sync.Mutex
	of    map[string]*T
}

// Of returns what is known of a member, to be used by whoever has that member to itself.
func (m *Memory[T]) Of(member string) *T {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.find(member)
}

func (m *Memory[T]) find(member string) *T {
	if m.of == nil {
		m.of = map[string]*T{}
	}
	if m.of[member] == nil {
		m.of[member] = new(T)
	}
	return m.of[member]
}

// With has do read or change what is known of a member, while nobody else does.
func (m *Memory[T]) With(member string, do func(*T)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	do(m.find(member))
}

// Get returns a copy of what is known of a member, and whether anything is.
func (m *Memory[T]) Get(member string) (known T, ok bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if p := m.of[member]; p != nil {
		return *p, true
	}
	return known, false
}

// Has says whether anything is known of a member.
func (m *Memory[T]) Has(member string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of[member] != nil
}

// Each has do read or change what is known of all members, while nobody else does.
func (m *Memory[T]) Each(do func(member string, known *T)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for member, known := range m.of {
		do(member, known)
	}
}

// Forget forgets a member.
func (m *Memory[T]) Forget(member string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.of, member)
}

// Keep forgets all but these members.
func (m *Memory[T]) Keep(members sets.Set[string]) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	maps.DeleteFunc(m.of, func(member string, _ *T) bool { return !members.Has(member) })
}
