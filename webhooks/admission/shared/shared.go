// Package shared asks a question once for all who wait for the answer.
package shared

import "sync"

// Answer asks once for all who wait for the same answer, one question after the other.
type Answer[T any] struct {
	mutex sync.Mutex
	next  *question[T]  // not put yet
	last  chan struct{} // closed when there is an answer to the last question, put or not
}

type question[T any] struct {
	answered chan struct{}
	answer   T
}

// Get returns the answer to a question that is put after the call. Those who come while it is under way share the next
// one.
func (s *Answer[T]) Get(ask func() T) T {
	s.mutex.Lock()
	if q := s.next; q != nil {
		s.mutex.Unlock()
		<-q.answered
		return q.answer
	}
	q, before := &question[T]{answered: make(chan struct{})}, s.last
	s.next, s.last = q, q.answered
	s.mutex.Unlock()
	defer close(q.answered)
	if before != nil {
		<-before
	}
	s.mutex.Lock()
	s.next = nil
	s.mutex.Unlock()
	q.answer = ask()
	return q.answer
}
