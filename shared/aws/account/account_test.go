package account_test

import (
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/bobbin-agent/bobbin/shared/aws/account"
)

// alone hides the settings of whoever runs the test.
func alone(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
}

func TestSettingsComeFromTheEnvironment(t *testing.T) {
	alone(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	cfg, err := account.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Region != "eu-central-1" || sdk.ToString(cfg.BaseEndpoint) != "http://127.0.0.1:1" {
		t.Errorf("region %q, endpoint %q", cfg.Region, sdk.ToString(cfg.BaseEndpoint))
	}
}

func TestMissingRegionSaysWhatToSet(t *testing.T) {
	alone(t)
	_, err := account.Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Errorf("got error %v, want one that says to set AWS_REGION", err)
	}
}
