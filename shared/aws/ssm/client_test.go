package ssm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func settings(base string) aws.Config {
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &base,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "session"}, nil
		}),
	}
}

// answering is a server that gives its answers in turn, the last one again and again.
func answering(t *testing.T, check func(*http.Request), answers ...answer) (base string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if check != nil {
			check(r)
		}
		a := answers[min(int(calls.Add(1)), len(answers))-1]
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	return server.URL, calls
}

type answer struct {
	status int
	body   string
}

var found = answer{200, `{"Parameter":{"Name":"/app/key","Type":"SecureString","Value":"value","Version":3}}`}

func TestTheRequestIsSignedAndAsksForTheDecryptedParameter(t *testing.T) {
	t.Parallel()
	base, _ := answering(t, func(r *http.Request) {
		var in map[string]any
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in["Name"] != "/app/key" || in["WithDecryption"] != true {
			t.Errorf("the body is %v, %v", in, err)
		}
		authorization := r.Header.Get("Authorization")
		if !strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") ||
			!strings.Contains(authorization, "/eu-central-1/ssm/aws4_request") {
			t.Errorf("the signature is %q", authorization)
		}
		if r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" || r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("the headers are %v", r.Header)
		}
	}, found)
	if got, err := newClient(settings(base)).parameter(t.Context(), "/app/key"); got != "value" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWhatMayPassIsAskedAgain(t *testing.T) {
	t.Parallel()
	throttled := answer{400, `{"__type":"ThrottlingException","message":"Rate exceeded"}`}
	base, calls := answering(t, nil, answer{503, "<html>"}, throttled, found)
	if got, err := newClient(settings(base)).parameter(t.Context(), "/app/key"); got != "value" || err != nil || calls.Load() != 3 {
		t.Errorf("got %q, %v after %d calls", got, err, calls.Load())
	}
	base, calls = answering(t, nil, throttled)
	if _, err := newClient(settings(base)).parameter(t.Context(), "/app/key"); err == nil || calls.Load() != attempts {
		t.Errorf("got %v after %d calls", err, calls.Load())
	}
}

// silent never answers.
type silent struct{}

func (silent) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAParameterStoreThatNeverAnswersIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := settings("http://127.0.0.1:1")
		cfg.HTTPClient = silent{}
		begun := time.Now()
		_, err := newClient(cfg).parameter(t.Context(), "/app/key")
		if took := time.Since(begun); err == nil || took < attempts*callWithin || took > attempts*callWithin+time.Second {
			t.Errorf("got %v after %v, want an error after three attempts of %v", err, took, callWithin)
		}
	})
}

func TestWhatIsRefusedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for body, missing := range map[string]bool{
		`{"__type":"com.amazonaws.ssm#ParameterNotFound"}`:              true,
		`{"__type":"ParameterNotFound","message":""}`:                   true,
		`{"__type":"AccessDeniedException","message":"not authorized"}`: false,
		`no JSON`: false,
	} {
		base, calls := answering(t, nil, answer{400, body})
		_, err := newClient(settings(base)).parameter(t.Context(), "/app/key")
		if err == nil || errors.Is(err, errMissing) != missing || calls.Load() != 1 {
			t.Errorf("%s: got %v after %d calls", body, err, calls.Load())
		}
	}
}

func TestEndpointIsTheRegions(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{
		"eu-central-1": "https://ssm.eu-central-1.amazonaws.com",
		"cn-north-1":   "https://ssm.cn-north-1.amazonaws.com.cn",
	} {
		if got := endpoint(aws.Config{Region: region}); got != want {
			t.Errorf("%s: got %s, want %s", region, got, want)
		}
	}
}
