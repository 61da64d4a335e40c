package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/internal/team"
)

// certificate writes a certificate for this machine's loopback and its key.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", keyDER), roots
}

// With a certificate the server speaks TLS from 1.2 on and nothing in the clear, and
// a machine sends its token to nobody whose certificate it does not trust.
func TestTLS(t *testing.T) {
	var server *serve.Server
	r := newRig(t, func(o *serve.Options) {
		var err error
		if server, err = serve.New(*o); err != nil {
			t.Fatal(err)
		}
	})
	token := r.mint("acme", "ada", both, "/w")
	cert, key, roots := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l, cert, key) }()
	address := l.Addr().String()
	ask := func(scheme string, config *tls.Config) (int, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address+"/v1/list", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, err
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if code, err := ask("https", &tls.Config{RootCAs: roots, MaxVersion: version}); code != 200 || err != nil {
			t.Errorf("%s: %d, %v", tls.VersionName(version), code, err)
		}
	}
	if code, err := ask("https", &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Errorf("TLS 1.1: %d", code)
	}
	if code, err := ask("http", nil); code == 200 {
		t.Errorf("in the clear: %d, %v", code, err)
	}
	stranger, err := team.Dial(team.Options{URL: "https://" + address, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Lines(t.Context(), "list", map[string][]string{}); err == nil || !strings.Contains(stranger.Excuse(err, 0), "does not trust the certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
