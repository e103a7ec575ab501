package bus

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// dialTime bounds how long a server may take to greet.
const dialTime = time.Second

// Servers returns how many of the known servers of the cluster answer: those of the
// settings, and those that the connected server tells of. A server that is lost and is
// not in the settings is not known.
func (b *Bus) Servers(ctx context.Context) (answering, known int) {
	var hosts []string
	for _, address := range b.NC.Servers() {
		if u, err := url.Parse(address); err == nil && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	var count atomic.Int64
	var all sync.WaitGroup
	for _, host := range hosts {
		all.Go(func() {
			if greets(ctx, host) {
				count.Add(1)
			}
		})
	}
	all.Wait()
	return int(count.Load()), len(hosts)
}

// greets reports whether a server accepts connections and says something: a NATS server
// speaks first.
func greets(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(dialTime))
	n, _ := conn.Read(make([]byte, 1))
	return n == 1
}

// CheckStream returns an error if a stream does not answer, or has no leader: the last
// server of a cluster answers for it then.
func CheckStream(ctx context.Context, js jetstream.JetStream, name string) error {
	s, err := FindStream(ctx, js, name)
	if err != nil {
		return err
	}
	cluster := s.CachedInfo().Cluster
	if err = RequireLeader(cluster); err == nil {
		return nil
	}
	online := 0
	for _, peer := range cluster.Replicas {
		if !peer.Offline {
			online++
		}
	}
	return fmt.Errorf("%w: %d of %d servers of the stream are online", err, online, len(cluster.Replicas))
}

// Certificates returns the certificates of a connection over TLS that end first: of
// those that the server showed, and this client's own. Each is nil if there is none.
func (b *Bus) Certificates() (server, client *x509.Certificate) {
	if state, err := b.NC.TLSConnectionState(); err == nil {
		for _, c := range state.PeerCertificates {
			if server == nil || c.NotAfter.Before(server.NotAfter) {
				server = c
			}
		}
	}
	if b.NC.Opts.TLSCertCB == nil {
		return server, nil
	}
	own, err := b.NC.Opts.TLSCertCB()
	if err != nil || len(own.Certificate) == 0 {
		return server, nil
	}
	if client = own.Leaf; client == nil {
		client, _ = x509.ParseCertificate(own.Certificate[0])
	}
	return server, client
}
