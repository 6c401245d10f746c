package fleet

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/cluster-api/util/secret"
)

const (
	certsFolder = "certs"
	algorithm   = bootstrapv1.EncryptionAlgorithmECDSAP256

	caFile                = "ca.crt"
	serverCertFile        = "server.crt"
	serverKeyFile         = "server.key"
	serviceAccountKeyFile = "sa.key"
	serviceAccountPubFile = "sa.pub"
)

// credentials are the certificate authority of one control plane and what it has signed.
type credentials struct {
	cluster string
	folder  string
	ca      *secret.Certificate
	caCert  *x509.Certificate
	caKey   crypto.Signer
}

// kubernetesService is the address of the Service kubernetes, and kubernetesName its name within the cluster.
const (
	kubernetesService = "10.0.0.1"
	kubernetesName    = "kubernetes.default.svc"
)

// newCredentials makes a certificate authority, a certificate for what serves at an address, and the key pair of
// service account tokens.
func newCredentials(cluster, folder, address string) (*credentials, error) {
	c := &credentials{
		cluster: cluster,
		folder:  filepath.Join(folder, certsFolder),
		ca:      &secret.Certificate{Purpose: secret.ClusterCA, KeyEncryptionAlgorithm: algorithm},
	}
	serviceAccounts := &secret.Certificate{Purpose: secret.ServiceAccount, KeyEncryptionAlgorithm: algorithm}
	if err := (secret.Certificates{c.ca, serviceAccounts}).Generate(); err != nil {
		return nil, err
	}
	var err error
	if c.caCert, err = certs.DecodeCertPEM(c.ca.KeyPair.Cert); err != nil {
		return nil, err
	}
	if c.caKey, err = certs.DecodePrivateKeyPEM(c.ca.KeyPair.Key); err != nil {
		return nil, err
	}
	if err := c.age(); err != nil {
		return nil, err
	}
	server, err := c.sign(&certs.Config{
		CommonName: "kube-apiserver",
		AltNames: certs.AltNames{
			DNSNames: []string{"localhost", kubernetesName},
			IPs:      []net.IP{net.ParseIP(address), net.ParseIP(kubernetesService)},
		},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	return c, c.write(map[string][]byte{
		caFile:                c.ca.KeyPair.Cert,
		serverCertFile:        server.Cert,
		serverKeyFile:         server.Key,
		serviceAccountPubFile: serviceAccounts.KeyPair.Cert,
		serviceAccountKeyFile: serviceAccounts.KeyPair.Key,
	})
}

// age makes the authority, and with it all that it signs, valid since yesterday, as in a cluster that was not made this
// minute: to a process whose clock is behind it is valid too.
func (c *credentials) age() error {
	old := *c.caCert
	old.NotBefore = time.Now().Add(-24 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &old, &old, c.caKey.Public(), c.caKey)
	if err != nil {
		return err
	}
	c.caCert, err = x509.ParseCertificate(der)
	c.ca.KeyPair.Cert = certs.EncodeCertPEM(c.caCert)
	return err
}

// path returns the path of one of the files.
func (c *credentials) path(file string) string { return filepath.Join(c.folder, file) }

// write puts files into the folder.
func (c *credentials) write(files map[string][]byte) error {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sign makes a key and a certificate for it.
func (c *credentials) sign(config *certs.Config) (*certs.KeyPair, error) {
	key, err := certs.NewSigner(algorithm)
	if err != nil {
		return nil, err
	}
	cert, err := config.NewSignedCert(key, c.caCert, c.caKey)
	if err != nil {
		return nil, err
	}
	encoded, err := certs.EncodePrivateKeyPEMFromSigner(key)
	return &certs.KeyPair{Cert: certs.EncodeCertPEM(cert), Key: encoded}, err
}

// admin returns a kubeconfig of group system:masters, as Cluster API makes it.
func (c *credentials) admin(server string) (*clientcmdapi.Config, error) {
	return kubeconfig.New(c.cluster, server, c.caCert, c.caKey, kubeconfig.KeyEncryptionAlgorithm(algorithm))
}

// writeUser writes the kubeconfig of a user in some groups, known by a certificate, and returns its path.
func (c *credentials) writeUser(user, server string, groups ...string) (string, error) {
	pair, err := c.sign(&certs.Config{CommonName: user, Organization: groups, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return "", err
	}
	path := c.path(user + ".kubeconfig")
	return path, writeKubeconfig(path, c.cluster, server, c.ca.KeyPair.Cert, &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.Cert,
		ClientKeyData:         pair.Key,
	})
}

// writeKubeconfig writes a kubeconfig with one cluster and one user.
func writeKubeconfig(path, cluster, server string, ca []byte, user *clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[cluster] = user
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: cluster}
	config.CurrentContext = cluster
	return clientcmd.WriteToFile(*config, path)
}
