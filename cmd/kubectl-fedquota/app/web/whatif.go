package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/plan"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// answer is what becomes of a budget that is changed, and the object that does it.
type answer struct {
	Plan *view.Plan `json:"plan"`
	YAML string     `json:"yaml"`
}

// answerWhatIf answers what a change of a budget would lead to. It changes nothing.
func (s *source) answerWhatIf(w http.ResponseWriter, r *http.Request) {
	a, err := s.whatIf(r.Context(), r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

func (s *source) whatIf(ctx context.Context, query url.Values) (*answer, error) {
	c, err := trialOf(query)
	if err != nil {
		return nil, err
	}
	if query.Get("kind") == "QuotaPool" {
		return s.whatIfPool(ctx, query.Get("name"), c)
	}
	key := client.ObjectKey{Namespace: query.Get("namespace"), Name: query.Get("name")}
	stored := find(objectsOf[*quotav1alpha1.FederatedQuota](s.budgets), key)
	if stored == nil {
		return nil, fmt.Errorf("there is no budget %s", key)
	}
	wanted := stored.DeepCopy()
	c.budget(wanted.Spec.Hard)
	if c.of != "" {
		wanted.Spec.Distribution.Rules = append(wanted.Spec.Distribution.Rules, quotav1alpha1.DistributionRule{
			Clusters:  []quotav1alpha1.ClusterName{quotav1alpha1.ClusterName(c.of)},
			RuleTerms: quotav1alpha1.RuleTerms{Weight: c.weight, Min: c.min, Max: c.max},
		})
	}
	fleet, err := live.ReadHub(ctx, reader{s}, s.clock.Now(), key, stored, s.live)
	if err != nil {
		return nil, err
	}
	p, err := plan.What(ctx, reader{s}, wanted, stored, fleet, s.clock.Now())
	if err != nil {
		return nil, err
	}
	return answerOf(p, map[string]any{"namespace": key.Namespace, "name": key.Name, "labels": wanted.Labels}, wanted.Spec)
}

// whatIfPool is whatIf for a pool.
func (s *source) whatIfPool(ctx context.Context, name string, c *trial) (*answer, error) {
	stored := find(objectsOf[*quotav1alpha1.QuotaPool](s.pools), client.ObjectKey{Name: name})
	if stored == nil {
		return nil, fmt.Errorf("there is no pool %s", name)
	}
	wanted := stored.DeepCopy()
	c.budget(wanted.Spec.Hard)
	if c.of != "" {
		wanted.Spec.Distribution.Rules = append(wanted.Spec.Distribution.Rules, quotav1alpha1.PoolRule{
			Children:  []quotav1alpha1.ChildName{quotav1alpha1.ChildName(c.of)},
			RuleTerms: quotav1alpha1.RuleTerms{Weight: c.weight, Min: c.min, Max: c.max},
		})
	}
	p, err := plan.WhatPool(ctx, reader{s}, wanted, stored, s.clock.Now())
	if err != nil {
		return nil, err
	}
	return answerOf(p, map[string]any{"name": name, "labels": wanted.Labels}, wanted.Spec)
}

func answerOf(p *view.Plan, metadata map[string]any, spec any) (*answer, error) {
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": quotav1alpha1.GroupVersion.String(), "kind": cmp.Or(p.Kind, "FederatedQuota"), "metadata": metadata, "spec": spec,
	})
	return &answer{p, string(content)}, err
}

// trial is what is asked about: another budget of a resource, and another weight, min and max of a cluster or child, which
// win over the rules that there are. What is nil stays as it is.
type trial struct {
	resource corev1.ResourceName
	hard     *resource.Quantity
	of       string
	weight   *int32
	min, max corev1.ResourceList
}

// budget changes the budget.
func (c *trial) budget(hard corev1.ResourceList) {
	if c.hard != nil {
		hard[c.resource] = *c.hard
	}
}

// trialOf reads a trial: resource, hard, of, weight, min, max.
func trialOf(query url.Values) (*trial, error) {
	c := &trial{resource: corev1.ResourceName(query.Get("resource")), of: query.Get("of")}
	var err error
	if c.hard, err = amountOf(query, "hard"); err != nil {
		return nil, err
	}
	if c.min, err = c.only(query, "min"); err != nil {
		return nil, err
	}
	if c.max, err = c.only(query, "max"); err != nil {
		return nil, err
	}
	if value := query.Get("weight"); value != "" {
		weight, err := strconv.ParseInt(value, 10, 32)
		if err != nil || weight < 0 || weight > 1_000_000 {
			return nil, fmt.Errorf("%s: %q is no weight: it must be a number from 0 to 1000000", c.of, value)
		}
		c.weight = new(int32(weight))
	}
	if c.weight == nil && c.min == nil && c.max == nil {
		c.of = ""
	}
	return c, nil
}

// only reads an amount of the resource alone, nil if there is none.
func (c *trial) only(query url.Values, field string) (corev1.ResourceList, error) {
	amount, err := amountOf(query, field)
	if amount == nil {
		return nil, err
	}
	return corev1.ResourceList{c.resource: *amount}, nil
}

// amountOf reads an amount, nil if there is none.
func amountOf(query url.Values, field string) (*resource.Quantity, error) {
	value := query.Get(field)
	if value == "" {
		return nil, nil
	}
	amount, err := resource.ParseQuantity(value)
	if err != nil || amount.Sign() < 0 {
		return nil, fmt.Errorf("%s: %q is no amount", field, value)
	}
	return &amount, nil
}
