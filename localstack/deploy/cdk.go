package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// bootstrapVersion is the parameter that the CDK's bootstrap leaves.
const bootstrapVersion = "/cdk-bootstrap/hnb659fds/version"

// Config is how to call the emulator at endpoint with the AWS SDK as the account's owner. S3 needs path style besides.
func Config(endpoint string) aws.Config {
	return aws.Config{
		BaseEndpoint: aws.String(endpoint),
		Region:       region,
		Credentials:  credentials.NewStaticCredentialsProvider(key, key, ""),
	}
}

// bootstrap gives the account the bucket that the CDK needs, once.
func (d deployment) bootstrap(ctx context.Context) error {
	_, err := ssm.NewFromConfig(Config(d.endpoint.String())).GetParameter(ctx, &ssm.GetParameterInput{
		Name: aws.String(bootstrapVersion),
	})
	if _, absent := errors.AsType[*types.ParameterNotFound](err); err == nil || !absent {
		return wrap(err, "asking whether the account was bootstrapped")
	}
	// Away from infra/, whose cdk.json would have the command line run the app.
	return d.run(ctx, "bootstrapping the account", d.cdkDir(), d.cdkPath(), "bootstrap", "aws://"+account+"/"+region,
		"--no-notices")
}

func wrap(err error, doing string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// storeSecrets puts the SecureStrings, which CloudFormation can't. A function may start as soon as it is deployed, so
// they go first.
func (d deployment) storeSecrets(ctx context.Context) error {
	client := ssm.NewFromConfig(Config(d.endpoint.String()))
	for _, name := range slices.Sorted(maps.Keys(d.secrets)) {
		_, err := client.PutParameter(ctx, &ssm.PutParameterInput{
			Name:      aws.String("/bobbin/" + d.settings["stage"] + "/" + name),
			Value:     aws.String(d.secrets[name]),
			Type:      types.ParameterTypeSecureString,
			Overwrite: aws.Bool(true),
		})
		if err != nil {
			return fmt.Errorf("storing the secret %s: %w", name, err)
		}
	}
	return nil
}

// deploy runs the app and brings the stack up to what it says.
func (d deployment) deploy(ctx context.Context) (out Outputs, err error) {
	dir, err := os.MkdirTemp("", "bobbin-deploy-")
	if err != nil {
		return Outputs{}, fmt.Errorf("deploying: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	outputs := filepath.Join(dir, "outputs.json")
	args := []string{
		"deploy", "Bobbin", "--app", d.appPath(), "--output", filepath.Join(dir, "cdk.out"), "--outputs-file", outputs,
		"--require-approval", "never", "--no-notices",
	}
	for _, name := range slices.Sorted(maps.Keys(d.settings)) {
		args = append(args, "-c", name+"="+d.settings[name])
	}
	if err := d.run(ctx, "deploying", filepath.Join(d.root, "infra"), d.cdkPath(), args...); err != nil {
		return Outputs{}, err
	}
	return d.readOutputs(outputs)
}

// readOutputs reads what the command line wrote of the stack's outputs.
func (d deployment) readOutputs(path string) (Outputs, error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file that this package has had made
	if err != nil {
		return Outputs{}, fmt.Errorf("reading the stack's outputs: %w", err)
	}
	var stacks map[string]map[string]string
	if err := json.Unmarshal(text, &stacks); err != nil {
		return Outputs{}, fmt.Errorf("reading the stack's outputs: %w", err)
	}
	values := stacks["Bobbin-"+d.settings["stage"]]
	out := Outputs{
		Endpoint:  strings.TrimSuffix(d.endpoint.String(), "/"),
		Host:      values["ApiId"] + ".execute-api.localhost:" + d.endpoint.Port(),
		Table:     values["Table"],
		Bucket:    values["Bucket"],
		QueueURL:  values["QueueUrl"],
		Functions: map[string]string{},
	}
	for _, f := range functions {
		out.Functions[f] = values[strings.ToUpper(f[:1])+f[1:]]
	}
	return out, out.check()
}

// check tells of an output that this package expects and the stack lacks.
func (o Outputs) check() error {
	missing := strings.HasPrefix(o.Host, ".") || o.Table == "" || o.Bucket == "" || o.QueueURL == ""
	for _, name := range o.Functions {
		missing = missing || name == ""
	}
	if missing {
		return fmt.Errorf("the stack's outputs are not whole: %+v", o)
	}
	return nil
}
