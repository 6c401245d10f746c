package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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

// whatIf answers what a change of a budget would lead to. It changes nothing.
func (s *site) whatIf(w http.ResponseWriter, r *http.Request) {
	a, err := s.source.whatIf(r.Context(), r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

func (s *source) whatIf(ctx context.Context, query url.Values) (*answer, error) {
	key := client.ObjectKey{Namespace: query.Get("namespace"), Name: query.Get("name")}
	stored := find(objectsOf[*quotav1alpha1.FederatedQuota](s.budgets), key)
	if stored == nil {
		return nil, fmt.Errorf("there is no budget %s", key)
	}
	wanted := stored.DeepCopy()
	if err := alter(&wanted.Spec, query); err != nil {
		return nil, err
	}
	fleet, err := live.ReadHub(ctx, reader{s}, s.clock.Now(), key, stored, s.live)
	if err != nil {
		return nil, err
	}
	p, err := plan.What(ctx, reader{s}, wanted, stored, fleet, s.clock.Now())
	if err != nil {
		return nil, err
	}
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": quotav1alpha1.GroupVersion.String(), "kind": "FederatedQuota",
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name, "labels": wanted.Labels}, "spec": wanted.Spec,
	})
	return &answer{p, string(content)}, err
}

// alter changes a spec as a query says: hard.NAME=AMOUNT, and weight.CLUSTER=WEIGHT.
func alter(spec *quotav1alpha1.FederatedQuotaSpec, query url.Values) error {
	for key := range query {
		of, name, _ := strings.Cut(key, ".")
		value := query.Get(key)
		switch {
		case of == "hard" && value != "":
			amount, err := resource.ParseQuantity(value)
			if err != nil || amount.Sign() < 0 {
				return fmt.Errorf("%s: %q is no amount", name, value)
			}
			spec.Hard[corev1.ResourceName(name)] = amount
		case of == "weight" && value != "":
			weight, err := strconv.ParseInt(value, 10, 32)
			if err != nil || weight < 0 || weight > 1_000_000 {
				return fmt.Errorf("%s: %q is no weight: it must be a number from 0 to 1000000", name, value)
			}
			// The last rule that has a weight for a cluster counts.
			spec.Distribution.Rules = append(spec.Distribution.Rules, quotav1alpha1.DistributionRule{
				Clusters: []quotav1alpha1.ClusterName{quotav1alpha1.ClusterName(name)}, Weight: new(int32(weight)),
			})
		}
	}
	return nil
}
