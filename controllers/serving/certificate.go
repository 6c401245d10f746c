// Package serving holds what the managers serve admission webhooks with: the certificate, and what API servers are told
// of where the webhooks are.
package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

const (
	authorityKey = "ca.crt"
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore   = 60 * 24 * time.Hour
	checkInterval = 10 * time.Minute
	// retryInterval is when it is tried again what failed.
	retryInterval = 10 * time.Second
	// rolloutTime is how long the certificate before is served on: the replica that leads looks at the Secret within a
	// checkInterval, and then writes what API servers shall trust. The rest is for writes that fail.
	rolloutTime = 3 * checkInterval
)

// Certificate is the certificate that a webhook is served with: made by the first replica that needs one, kept in a
// Secret for all of them, renewed in time, and served once API servers trust it.
type Certificate struct {
	// Client writes the Secret, Live reads it.
	Client client.Writer
	Live   client.Reader
	// Clock tells when to renew.
	Clock clock.Clock
	// Namespace is the manager's own, Secret the name of the Secret there.
	Namespace, Secret string
	// Hosts are the names and addresses that API servers call.
	Hosts []string
	// Lifetime is how long a new certificate lives, a year if zero.
	Lifetime time.Duration
	// Provided says that somebody else keeps the Secret, such as cert-manager. It is never written then.
	Provided bool

	mutex     sync.RWMutex
	serving   *tls.Certificate
	authority []byte
	next      *tls.Certificate // what the Secret held last
	since     time.Time        // next is known
	changes   chan event.GenericEvent
}

// NeedLeaderElection lets every replica serve.
func (c *Certificate) NeedLeaderElection() bool { return false }

// Start looks at the Secret at once and then now and then, until the context ends. What it cannot read or write ends no
// manager: limits are enforced without a webhook, too.
func (c *Certificate) Start(ctx context.Context) error {
	for {
		wait := checkInterval
		if err := c.Ensure(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to ensure the certificate of the webhook, the one at hand goes on", "again",
				retryInterval)
			wait = retryInterval
		}
		timer := c.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Serving returns the certificate to serve with.
func (c *Certificate) Serving(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	if c.serving == nil {
		return nil, errors.New("no certificate yet")
	}
	return c.serving, nil
}

// Authority returns the certificates that API servers shall trust.
func (c *Certificate) Authority() []byte {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return c.authority
}

// Changes sends an event when API servers shall trust something else.
func (c *Certificate) Changes() <-chan event.GenericEvent {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.changed()
}

// changed returns the channel that Changes does. The caller holds the mutex.
func (c *Certificate) changed() chan event.GenericEvent {
	if c.changes == nil {
		c.changes = make(chan event.GenericEvent, 1)
	}
	return c.changes
}

// trust takes an authority, and sends an event if it is a new one, unless an event waits to be seen. The caller holds
// the mutex.
func (c *Certificate) trust(authority []byte) {
	if bytes.Equal(c.authority, authority) {
		return
	}
	c.authority = authority
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Secret}}
	select {
	case c.changed() <- event.GenericEvent{Object: secret}:
	default:
	}
}

// Ensure takes the certificate from the Secret, and makes one if there is none that is good for the hosts.
func (c *Certificate) Ensure(ctx context.Context) error {
	secret := &corev1.Secret{}
	err := c.Live.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Secret}, secret)
	switch {
	case c.Provided:
		return c.provided(secret, err)
	case apierrors.IsNotFound(err):
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Secret}, Type: corev1.SecretTypeTLS,
		}
		return c.make(ctx, secret, func() error { return c.Client.Create(ctx, secret) })
	case err != nil:
		return fmt.Errorf("reading Secret %s: %w", c.Secret, err)
	case c.use(secret, renewBefore) == nil:
		return nil
	default:
		return c.make(ctx, secret, func() error { return c.Client.Update(ctx, secret) })
	}
}

// make gives the Secret a new certificate, writes it, and uses it.
func (c *Certificate) make(ctx context.Context, secret *corev1.Secret, write func() error) error {
	if err := c.renew(secret); err != nil {
		return err
	}
	err := write()
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return c.Ensure(ctx) // another replica was faster
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", c.Secret, err)
	}
	return c.use(secret, renewBefore)
}

// provided uses a Secret that somebody else keeps, until its certificate ends.
func (c *Certificate) provided(secret *corev1.Secret, err error) error {
	if err == nil {
		err = c.use(secret, 0)
	}
	if err != nil {
		return fmt.Errorf("secret %s/%s is to be provided with %s, %s and %s: %w",
			c.Namespace, c.Secret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, authorityKey, err)
	}
	return nil
}

// use serves with what the Secret holds, or says why that will not do: it has to be good for some time yet. As long as
// the certificate at hand is trusted, too, it goes on until API servers know the new one.
func (c *Certificate) use(secret *corev1.Secret, yet time.Duration) error {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return err
	}
	now, authority := c.Clock.Now(), secret.Data[authorityKey]
	if now.Add(yet).After(pair.Leaf.NotAfter) {
		return errors.New("the certificate ends soon")
	}
	if err := trusted(&pair, authority, now); err != nil {
		return err
	}
	for _, host := range c.Hosts {
		if err := pair.Leaf.VerifyHostname(host); err != nil {
			return err
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.trust(authority)
	if c.next == nil || !c.next.Leaf.Equal(pair.Leaf) {
		c.next, c.since = &pair, now
	}
	if c.serving == nil || now.Sub(c.since) >= rolloutTime || trusted(c.serving, authority, now) != nil {
		c.serving = c.next
	}
	return nil
}

// trusted says why a certificate is not trusted at a time by who trusts the authorities.
func trusted(pair *tls.Certificate, authorities []byte, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now})
	return err
}

// renew gives the Secret a new certificate. The authorities before it are trusted on, also if somebody has deleted
// them: replicas that have not seen the new one serve with theirs.
func (c *Certificate) renew(secret *corev1.Secret) error {
	before := secret.Data[authorityKey]
	if len(before) == 0 {
		before = c.Authority()
	}
	var addresses []net.IP
	for _, host := range c.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
		}
	}
	chain, key, err := certutil.GenerateSelfSignedCertKeyWithOptions(certutil.SelfSignedCertKeyOptions{
		Host: c.Hosts[0], AlternateIPs: addresses, AlternateDNS: c.Hosts, MaxAge: c.Lifetime,
	})
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	certificates, err := certutil.ParseCertsPEM(chain)
	if err != nil {
		return fmt.Errorf("reading the certificate just made: %w", err)
	}
	trust := certificates[len(certificates)-1:] // the authority
	if old, err := certutil.ParseCertsPEM(before); err == nil && old[0].NotAfter.After(c.Clock.Now()) {
		trust = append(trust, old[0])
	}
	authority, err := certutil.EncodeCertificates(trust...)
	if err != nil {
		return fmt.Errorf("writing the authorities: %w", err)
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[authorityKey] = chain, key, authority
	return nil
}
