package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMemberIdentity refuses to be somebody unknown in members.
func TestMemberIdentity(t *testing.T) {
	for identity, good := range map[string]bool{"serviceaccount": true, "kubeconfig": true, "ServiceAccount": false, "": false} {
		command := newHubCommand()
		command.SetArgs([]string{"--member-identity=" + identity, "--agent-image="})
		command.SilenceErrors, command.SilenceUsage = true, true
		want := "--member-identity=" + identity + ": must be serviceaccount or kubeconfig"
		if good {
			want = "--install-agents: image of the agent: not known" // what is looked at next
		}
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", identity, err, want)
		}
	}
}

// TestCachedSecrets sees that the hub keeps the way to each cluster, and none of its other keys.
func TestCachedSecrets(t *testing.T) {
	for name, kept := range map[string]bool{
		"east-kubeconfig": true, "east-1-kubeconfig": true, "east-ca": false, "east-etcd": false, "east-sa": false, "east-proxy": false, "kubeconfig": false, "east": false,
	} {
		object, err := kubeconfigsAlone(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{}}}, Data: map[string][]byte{"value": []byte("secret")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if secret := object.(*corev1.Secret); (len(secret.Data) > 0) != kept || len(secret.ManagedFields) > 0 {
			t.Errorf("of %s are cached: %d keys, %d managers", name, len(secret.Data), len(secret.ManagedFields))
		}
	}
}
