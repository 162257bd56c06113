// Package grant says who may do what: the one table of all permissions that the functions hold, each with its reason.
//
// Nothing is allowed that is not a row here, no row has a wildcard action, and no function shares a role with another.
// The package knows nothing of CDK, so that scripts can list the rows in an instant; package stack turns them into
// policies.
package grant

import (
	"fmt"
	"slices"
	"strings"
)

// Resource is what a grant is on: one of the stack's own things.
type Resource string

// The resources.
const (
	Table   Resource = "table"   // the record store, which has no indexes
	Objects Resource = "objects" // the objects in the bucket, not the bucket
	Bucket  Resource = "bucket"  // the bucket, not its objects
	Queue   Resource = "queue"   // the wake-up queue, not its dead letters
	Logs    Resource = "logs"    // the function's own log group
	Secret  Resource = "secret"  // one parameter under the stage's prefix, named by Grant.Secret
)

// Caller says whose call needs the grant.
type Caller string

// The callers.
const (
	Ours Caller = "ours" // the function's own code: without it the end-to-end suite fails
	AWS  Caller = "aws"  // AWS alone asks for it, no emulator: its queue poller, its log writer
)

// Grant lets one function do one thing.
type Grant struct {
	Function Function
	Action   string // the IAM action: service:Verb, never a wildcard
	On       Resource
	Secret   SecretName // set exactly when On is Secret
	By       Caller
	Why      string
}

// ID names the grant in settings and lists: function/action, and the secret's name where one is granted.
func (g Grant) ID() string {
	id := string(g.Function) + "/" + g.Action
	if g.Secret != "" {
		id += "/" + string(g.Secret)
	}
	return id
}

// For returns what the function holds, in the table's order.
func For(all []Grant, f Function) []Grant {
	var held []Grant
	for _, g := range all {
		if g.Function == f {
			held = append(held, g)
		}
	}
	return held
}

// Without returns the grants but the one of that ID; all of them if the ID is empty. It is how a script proves that
// each is needed. An ID that names none is an error, so that such a proof can't succeed by a typing mistake.
func Without(all []Grant, id string) ([]Grant, error) {
	if id == "" {
		return all, nil
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(g Grant) bool { return g.ID() == id })
	if len(rest) == len(all) {
		return nil, fmt.Errorf("there is no grant %q; the grants are %s", id, strings.Join(IDs(all), ", "))
	}
	return rest, nil
}

// IDs lists the grants' IDs in their order.
func IDs(all []Grant) []string {
	ids := make([]string, len(all))
	for i, g := range all {
		ids[i] = g.ID()
	}
	return ids
}
