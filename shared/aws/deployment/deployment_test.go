package deployment

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/aws/account"
)

func TestAFunctionFindsTheAccountThatTheSDKWouldFind(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_PROFILE": "", "AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none",
		"BOBBIN_TABLE": "table", "BOBBIN_BUCKET": "bucket", "BOBBIN_QUEUE_URL": "http://127.0.0.1:1/q.fifo", "BOBBIN_SECRETS": "/bobbin/",
	} {
		t.Setenv(name, value)
	}
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	want, err := account.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(brief(t, want), brief(t, settingsOf(d.Settings.AWS))); diff != "" {
		t.Errorf("want (-) as the SDK finds it, got (+):\n%s", diff)
	}
}

func TestAFunctionWithoutItsSettingsSaysWhichAreMissing(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "BOBBIN_TABLE", "BOBBIN_BUCKET", "BOBBIN_QUEUE_URL", "BOBBIN_SECRETS"} {
		t.Setenv(name, "")
	}
	_, err := Open()
	if err == nil || !strings.Contains(err.Error(), "BOBBIN_TABLE is not set") || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got %v", err)
	}
}

// brief is what matters of the SDK's settings, and can be compared.
func brief(t *testing.T, cfg sdk.Config) map[string]any {
	t.Helper()
	c, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"region": cfg.Region, "endpoint": sdk.ToString(cfg.BaseEndpoint), "key": c.AccessKeyID, "secret": c.SecretAccessKey,
		"session": c.SessionToken, "account": cfg.AccountIDEndpointMode, "request": cfg.RequestChecksumCalculation,
		"response": cfg.ResponseChecksumValidation,
	}
}
