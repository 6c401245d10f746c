package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

// long is from when on a wait is told of: scenarios cost waits for the most part.
const long = 2 * time.Second

// eventually waits until check finds nothing wrong.
func (s *scenario) eventually(what string, check func(ctx context.Context) error) {
	s.Helper()
	defer s.tellOfWait(what, time.Now())
	if err := await(s.Context(), check); err != nil {
		s.Fatalf("%s: %v\n%s", what, err, s.dump())
	}
}

// tellOfWait tells of a wait that was long.
func (s *scenario) tellOfWait(what string, began time.Time) {
	s.Helper()
	if took := time.Since(began); took > long {
		s.Logf("waited %s for %s", took.Round(100*time.Millisecond), what)
	}
}

// await polls until check finds nothing wrong, or returns the last that was.
func await(ctx context.Context, check func(ctx context.Context) error) error {
	return systemtest.Await(ctx, pollInterval, patience, check)
}

// holds sees that check finds nothing wrong for a while.
func (s *scenario) holds(what string, duration time.Duration, check func(ctx context.Context) error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), duration)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if err := check(s.Context()); err != nil {
			s.Fatalf("%s: %v\n%s", what, err, s.dump())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// settle waits until the hub says that all is settled and the members show it, and lowers the observer's ceiling to
// what is granted then.
func (s *scenario) settle() {
	s.Helper()
	start := time.Now()
	s.eventually("settling", s.settled)
	s.result.longestSettle(time.Since(start))
	s.lowerCeiling()
}

// lowerCeiling tells the observer what is granted, which after a cut is less than it allows.
func (s *scenario) lowerCeiling() {
	s.Helper()
	fq, err := s.federatedQuota(s.Context())
	s.must(err)
	s.observer.SetGranted(fq.Status.Granted, time.Now())
}

// settled says what is not settled.
func (s *scenario) settled(ctx context.Context) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != fq.Generation {
		return fmt.Errorf("not ready: %+v", ready)
	}
	var errs []error
	for _, c := range fq.Status.Clusters {
		if c.State != quotav1alpha1.ClusterSettled {
			errs = append(errs, fmt.Errorf("cluster %s is %s: %s", c.Name, c.State, c.Message))
		}
		errs = append(errs, s.enforces(ctx, c))
	}
	return errors.Join(errs...)
}

// enforces says how a member differs from its settled entry.
func (s *scenario) enforces(ctx context.Context, c quotav1alpha1.ClusterStatus) error {
	quota, err := s.quota(ctx, string(c.Name))
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	revision := quota.Annotations[quotav1alpha1.RevisionAnnotation]
	if c.Target != nil || revision != fmt.Sprint(c.Revision) ||
		!quotav1.Equals(quota.Spec.Hard, c.Granted) || !quotav1.Equals(quota.Status.Hard, c.Granted) {
		return fmt.Errorf("cluster %s: granted %s target %s revision %d; enforced %s, in force %s, revision %s", c.Name,
			text(c.Granted), text(c.Target), c.Revision, text(quota.Spec.Hard), text(quota.Status.Hard), revision)
	}
	return nil
}

// split waits until everything is settled with these limits, in the order of the members.
func (s *scenario) split(want amounts) {
	s.Helper()
	s.settle()
	if err := s.limits(s.Context(), want); err != nil {
		s.Fatalf("settled with other limits: %v\n%s", err, s.dump())
	}
}

// limits says which limits in force differ.
func (s *scenario) limits(ctx context.Context, want amounts) error {
	var errs []error
	for name, list := range want {
		for i, member := range s.names() {
			if list[i] == "" {
				continue
			}
			quota, err := s.quota(ctx, member)
			if err != nil {
				errs = append(errs, fmt.Errorf("cluster %s: %w", member, err))
				continue
			}
			got := quota.Status.Hard[name]
			if got.Cmp(resource.MustParse(list[i])) != 0 {
				errs = append(errs, fmt.Errorf("cluster %s: %s is %s, want %s", member, name, got.String(), list[i]))
			}
		}
	}
	return errors.Join(errs...)
}

// condition waits until a condition of the FederatedQuota is true (or, for Ready, false) and its message has all parts.
func (s *scenario) condition(kind string, parts ...string) {
	s.Helper()
	s.eventually("condition "+kind, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err != nil {
			return err
		}
		return hasCondition(fq, kind, parts...)
	})
}

func hasCondition(fq *quotav1alpha1.FederatedQuota, kind string, parts ...string) error {
	c := apimeta.FindStatusCondition(fq.Status.Conditions, kind)
	switch {
	case c == nil, kind != quotav1alpha1.ConditionReady && c.Status != metav1.ConditionTrue, c.ObservedGeneration != fq.Generation:
		return fmt.Errorf("no condition %s of generation %d: %+v", kind, fq.Generation, fq.Status.Conditions)
	case !containsAll(c.Message, parts):
		return fmt.Errorf("condition %s says %q, want all of %q", kind, c.Message, parts)
	}
	return nil
}

// event says whether no event with a reason about an object of a kind has come to an API server.
func (s *scenario) event(ctx context.Context, c client.Client, namespace, kind, reason string) error {
	var list eventsv1.EventList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Kind == kind && e.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("none of %d events in %s is %s of a %s", len(list.Items), namespace, reason, kind)
}

// noCondition waits until a condition is gone.
func (s *scenario) noCondition(kind string) {
	s.Helper()
	s.eventually("end of condition "+kind, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && apimeta.FindStatusCondition(fq.Status.Conditions, kind) != nil {
			err = fmt.Errorf("still there: %+v", fq.Status.Conditions)
		}
		return err
	})
}
