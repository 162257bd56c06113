package secret

import (
	"context"
	"fmt"
	"strings"
)

// Env answers from the process's environment, for one machine. It reads a variable at each Get and keeps nothing.
type Env struct {
	// Variables has the environment variable of each secret, by the secret's name. A name that isn't here is not found.
	Variables map[string]string
	// Lookup reads a variable, as os.LookupEnv does.
	Lookup func(variable string) (value string, ok bool)
}

// Get is Store's. Its ErrNotFound says which variable to set.
func (e Env) Get(_ context.Context, name string) (string, error) {
	variable, ok := e.Variables[name]
	if !ok {
		return "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	value, _ := e.Lookup(variable)
	if value = strings.TrimSpace(value); value == "" {
		return "", fmt.Errorf("%w: %s: set %s", ErrNotFound, name, variable)
	}
	return value, nil
}
