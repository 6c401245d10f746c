package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

// fedquota is a FederatedQuota with the defaults: mode Auto, requests that do not fit are held.
type fedquota struct{ *world }

func startFedquota(ctx context.Context, w *world) (way, error) {
	options, err := w.options()
	if err != nil {
		return nil, err
	}
	s, err := system.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := w.on(s); err != nil {
		return nil, err
	}
	for _, m := range w.members {
		if err := w.redirect(ctx, m); err != nil {
			return nil, err
		}
	}
	hub, err := s.StartHubManager(ctx, system.HubManager)
	if err != nil {
		return nil, err
	}
	w.programs = append(w.programs, hub)
	for _, m := range s.Members {
		agent, err := s.StartAgent(ctx, m, system.Agent(m.Name))
		if err != nil {
			return nil, err
		}
		w.programs = append(w.programs, agent)
	}
	return fedquota{w}, nil
}

// redirect has the hub reach a member by its proxy.
func (w *world) redirect(ctx context.Context, member string) error {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: member + "-kubeconfig"}
	if err := w.HubClient.Get(ctx, key, secret); err != nil {
		return err
	}
	config, err := clientcmd.Load(secret.Data["value"])
	if err != nil {
		return err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = w.proxied(member)
	}
	if secret.Data["value"], err = clientcmd.Write(*config); err != nil {
		return err
	}
	return w.HubClient.Update(ctx, secret)
}

func (f fedquota) create(ctx context.Context, s split) error {
	return f.Share(ctx, namespace, milli(s.budget), f.members, quotav1alpha1.Admission{}, f.weigh(s))
}

// weigh gives the members the weights of a split.
func (f fedquota) weigh(s split) func(*quotav1alpha1.FederatedQuota) {
	return func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules = nil
		for i, m := range f.members {
			fq.Spec.Distribution.Rules = append(fq.Spec.Distribution.Rules, quotav1alpha1.DistributionRule{
				Clusters:  []quotav1alpha1.ClusterName{quotav1alpha1.ClusterName(m)},
				RuleTerms: quotav1alpha1.RuleTerms{Weight: new(int32(s.weights[i]))},
			})
		}
	}
}

func (f fedquota) change(ctx context.Context, s split) error {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := f.HubClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: rig.QuotaName}, fq); err != nil {
		return err
	}
	before := fq.DeepCopy()
	fq.Spec.Hard = amount(s.budget)
	f.weigh(s)(fq)
	return f.HubClient.Patch(ctx, fq, client.MergeFrom(before))
}
