package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/canary"
	"github.com/fedquota/fedquota/controllers/member/coverage"
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/recount"
	"github.com/fedquota/fedquota/controllers/member/share"
	"github.com/fedquota/fedquota/controllers/member/webhookconfig"
	"github.com/fedquota/fedquota/internal/demand"
)

// newAgentCommand returns the command that runs the agent.
func newAgentCommand() *cobra.Command {
	var options managerOptions
	var webhook webhookOptions
	command := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent in a member",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			mgr, err := options.newManager("fedquota-agent", agentObjects(options.namespace), webhook.server())
			if err != nil {
				return err
			}
			ctx := webhook.drained(command.Context())
			if err := setUpAgent(ctx, mgr, options.namespace, &webhook); err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
	}
	options.bind(command)
	webhook.bind(command.Flags())
	return command
}

// setUpAgent adds the controllers and the webhook of the agent to the manager.
func setUpAgent(ctx context.Context, mgr ctrl.Manager, namespace string, webhook *webhookOptions) error {
	quotaCanary := canary.NewCanary(mgr.GetClient(), clock.RealClock{}, namespace)
	if err := quotaCanary.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the canary: %w", err)
	}
	if err := mgr.Add(quotaCanary.Watchdog(mgr.GetAPIReader())); err != nil {
		return fmt.Errorf("setting up the watch over the store: %w", err)
	}
	needs := &memberdemand.Demand{Client: mgr.GetClient(), Clock: clock.RealClock{}, Book: demand.NewBook(), Replica: string(uuid.NewUUID())}
	if err := setUpWatch(mgr, needs); err != nil {
		return fmt.Errorf("setting up the watch over pods and workloads: %w", err)
	}
	shares := &share.Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Clock:    clock.RealClock{},
		Recorder: mgr.GetEventRecorder("fedquota-agent"),
		Canary:   quotaCanary,
		Demand:   needs,
	}
	if err := shares.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the share controller: %w", err)
	}
	recounts := &recount.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}}
	if err := recounts.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the recount of pods: %w", err)
	}
	if err := (&coverage.Reconciler{Client: mgr.GetClient()}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the notes of what is covered: %w", err)
	}
	follower := &memberdemand.Follower{Demand: needs, Elected: mgr.Elected()}
	if err := follower.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the reports of a follower: %w", err)
	}
	return webhook.setUpAgent(ctx, mgr, namespace, shares)
}

// setUpWatch adds what learns of pods and workloads to the manager.
func setUpWatch(mgr ctrl.Manager, needs *memberdemand.Demand) error {
	config := rest.CopyConfig(mgr.GetConfig())
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
	api, err := kubernetes.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	return (&memberdemand.Watch{
		Demand: needs, API: api, Recorder: mgr.GetEventRecorder("fedquota-agent"), Elected: mgr.Elected(),
	}).SetupWithManager(mgr)
}

// keepWriters leaves of the managed fields of a ResourceQuota who has written it, which says whom to ask about it.
func keepWriters(object any) (any, error) {
	if quota, ok := object.(*corev1.ResourceQuota); ok {
		for i, field := range quota.ManagedFields {
			quota.ManagedFields[i] = metav1.ManagedFieldsEntry{Manager: field.Manager, Subresource: field.Subresource}
		}
	}
	return object, nil
}

// agentObjects restricts what the agent caches.
func agentObjects(namespace string) cache.Options {
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{
		&corev1.ResourceQuota{}:                                   {Transform: keepWriters},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: fields.OneTermEqualSelector("metadata.name", webhookconfig.ConfigurationName)},
		&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{namespace: {
			FieldSelector: fields.OneTermEqualSelector("metadata.name", quotav1alpha1.HubLease),
		}}},
	}}
}
