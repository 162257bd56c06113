// Package account finds the AWS account to work in, as every AWS program does: region, credentials and endpoint come from
// the environment, the shared configuration files, or the machine's role.
//
// With AWS_ENDPOINT_URL set, everything goes to that server instead: an emulator.
package account

import (
	"context"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// Load reads the ambient settings. It makes no request; credentials are fetched at first use.
func Load(ctx context.Context) (sdk.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return sdk.Config{}, fmt.Errorf("loading the AWS settings: %w", err)
	}
	if cfg.Region == "" {
		return sdk.Config{}, fmt.Errorf("loading the AWS settings: no region: set AWS_REGION")
	}
	return cfg, nil
}
