package members

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// credentials are those of one member: no two share a certificate authority, so that a client shares nothing between
// them either.
type credentials struct {
	ca                         *x509.Certificate
	key                        *ecdsa.PrivateKey
	server                     tls.Certificate
	clientCert, clientKey, pem []byte
}

func newCredentials(name string) (*credentials, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	c := &credentials{key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if c.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	serverCert, serverKey, err := c.sign(x509.ExtKeyUsageServerAuth, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	if c.server, err = tls.X509KeyPair(serverCert, serverKey); err != nil {
		return nil, err
	}
	c.clientCert, c.clientKey, err = c.sign(x509.ExtKeyUsageClientAuth, "kubernetes-admin")
	return c, err
}

// sign returns a certificate and its key.
func (c *credentials) sign(usage x509.ExtKeyUsage, name string) (cert, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: []string{"system:masters"}},
		NotBefore: c.ca.NotBefore, NotAfter: c.ca.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.ca, own.Public(), c.key)
	if err != nil {
		return nil, nil, err
	}
	plain, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: plain}), nil
}

// Kubeconfig returns the way to the member, as Cluster API keeps it on the hub.
func (m *Member) Kubeconfig() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[m.Name] = &clientcmdapi.Cluster{Server: "https://" + m.address, CertificateAuthorityData: m.credentials.pem}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: m.credentials.clientCert, ClientKeyData: m.credentials.clientKey}
	config.Contexts["admin"] = &clientcmdapi.Context{Cluster: m.Name, AuthInfo: "admin"}
	config.CurrentContext = "admin"
	return clientcmd.Write(*config)
}
