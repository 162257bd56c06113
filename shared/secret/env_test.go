package secret_test

import (
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/secret"
	"github.com/bobbin-agent/bobbin/shared/secret/secrettest"
)

func env(_ *testing.T, secrets map[string]string) secret.Store {
	variables, values := map[string]string{}, map[string]string{}
	for name, value := range secrets {
		variable := "APP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		variables[name], values[variable] = variable, value
	}
	lookup := func(variable string) (string, bool) {
		v, ok := values[variable]
		return v, ok
	}
	return secret.Env{Variables: variables, Lookup: lookup}
}

func TestEnvKeepsTheSeamsGuarantees(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, env)
}

func TestEnvSaysWhichVariableToSet(t *testing.T) {
	t.Parallel()
	_, err := env(t, map[string]string{"model-key": ""}).Get(t.Context(), "model-key")
	if err == nil || !strings.Contains(err.Error(), "set APP_MODEL_KEY") {
		t.Errorf("got error %v, want one that says to set APP_MODEL_KEY", err)
	}
}
