package cli

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fedquota/fedquota/controllers/hub/members"
)

// leadingTo returns a Secret with a kubeconfig.
func leadingTo(t *testing.T, host, name, key string, labels map[string]string) *corev1.Secret {
	config := clientcmdapi.NewConfig()
	config.Clusters["east"] = &clientcmdapi.Cluster{Server: host}
	config.Contexts["east"] = &clientcmdapi.Context{Cluster: "east"}
	config.CurrentContext = "east"
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}, Data: map[string][]byte{key: content},
	}
}

// TestWayTo finds the way to a cluster by the Secret of its name, or else by the one of its ClusterProfile.
func TestWayTo(t *testing.T) {
	named := leadingTo(t, "https://named", "east-kubeconfig", "value", nil)
	listed := leadingTo(t, "https://listed", "access", members.ProfileDataName, map[string]string{
		members.ProfileLabel: "east", members.ConsumerLabel: members.Consumer,
	})
	for name, tc := range map[string]struct {
		secrets []client.Object
		host    string
	}{
		"the Secret of its name":            {secrets: []client.Object{named}, host: "https://named"},
		"that, and one of a ClusterProfile": {secrets: []client.Object{named, listed}, host: "https://named"},
		"the Secret of a ClusterProfile":    {secrets: []client.Object{listed}, host: "https://listed"},
		"none":                              {},
	} {
		t.Run(name, func(t *testing.T) {
			hub := fake.NewClientBuilder().WithObjects(tc.secrets...).Build()
			config, err := WayTo(t.Context(), hub, client.ObjectKey{Namespace: "default", Name: "east"})
			if (err != nil) != (tc.host == "") || (err == nil && config.Host != tc.host) {
				t.Errorf("got %v and %v, want %q", config, err, tc.host)
			}
		})
	}
}
