package e2e

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bobbin-agent/bobbin/localstack/deploy"
)

// startGate stands between the functions and the emulator, and does what AWS does and the emulator doesn't: whoever may
// not list a bucket is told that an object that is missing is forbidden, not that it is missing.
func (w *deployed) startGate(t testing.TB) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(&httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // functions call for a moment after the emulator has ended
		Rewrite: func(r *httputil.ProxyRequest) {
			to, err := url.Parse(w.emulator.URL)
			if err != nil {
				t.Error(err)
				return
			}
			r.SetURL(to)
			r.Out.Host = r.In.Host // which is signed
		},
		ModifyResponse: func(r *http.Response) error {
			bucket, key, _ := strings.Cut(strings.TrimPrefix(r.Request.URL.Path, "/"), "/")
			if r.StatusCode != http.StatusNotFound || key == "" || w.mayList(t, r.Request, bucket) {
				return nil
			}
			const denied = `<Error><Code>AccessDenied</Code><Message>not authorized to perform s3:ListBucket</Message></Error>`
			r.StatusCode, r.ContentLength = http.StatusForbidden, int64(len(denied))
			r.Header.Set("Content-Length", strconv.Itoa(len(denied)))
			r.Body = io.NopCloser(strings.NewReader(denied))
			return nil
		},
	})
	t.Cleanup(server.Close)
	return server
}

var credential = regexp.MustCompile(`Credential=([^/,]+)/`)

// mayList lists the bucket as whoever has signed the request: a process of the emulator's, which has its key from its
// environment.
func (w *deployed) mayList(t testing.TB, r *http.Request, bucket string) bool {
	t.Helper()
	id := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if id == nil {
		t.Errorf("a request for %s is not signed", r.URL.Path)
		return false
	}
	for _, pid := range children(t, w.emulator.PID()) {
		env := environ(pid)
		if env["AWS_ACCESS_KEY_ID"] != id[1] {
			continue
		}
		cfg := deploy.Config(w.emulator.URL)
		cfg.Credentials = credentials.NewStaticCredentialsProvider(id[1], env["AWS_SECRET_ACCESS_KEY"], env["AWS_SESSION_TOKEN"])
		client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
		_, err := client.ListObjectsV2(r.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		return err == nil
	}
	return true // the test's own
}

// environ is a process's environment, empty if it has ended.
func environ(pid int) map[string]string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")) // it may have ended
	env := map[string]string{}
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		env[name] = value
	}
	return env
}
