package grant

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryGrantIsOneWholeRow(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, g := range All() {
		service, verb, _ := strings.Cut(g.Action, ":")
		switch {
		case service == "" || verb == "" || strings.Contains(g.Action, "*"):
			t.Errorf("%s: the action %q is not one service:Verb; list each action in a row of its own", g.ID(), g.Action)
		case !slices.Contains(Functions, g.Function):
			t.Errorf("%s: there is no function %q", g.ID(), g.Function)
		case (g.On == Secret) != (g.Secret != ""):
			t.Errorf("%s: a grant on a secret names it, and no other does", g.ID())
		case g.Secret != "" && !slices.Contains(Secrets, g.Secret):
			t.Errorf("%s: %q is missing in Secrets", g.ID(), g.Secret)
		case g.By != Ours && g.By != AWS:
			t.Errorf("%s: says not whose call needs it", g.ID())
		case g.Why == "":
			t.Errorf("%s: gives no reason", g.ID())
		case seen[g.ID()]:
			t.Errorf("%s: is there twice, so one of them can't be removed alone", g.ID())
		}
		seen[g.ID()] = true
	}
}

func TestOnlyTheRunnerMayUseModelKeysAndTheBotToken(t *testing.T) {
	t.Parallel()
	for _, g := range All() {
		if g.On == Secret && g.Secret != TelegramSecret && g.Function != Runner {
			t.Errorf("%s: what faces the outside holds no secret that can spend money or speak for the bot", g.ID())
		}
	}
}

func TestWithoutRemovesExactlyOne(t *testing.T) {
	t.Parallel()
	all := All()
	for _, id := range IDs(all) {
		rest, err := Without(all, id)
		if err != nil || len(rest) != len(all)-1 || slices.Contains(IDs(rest), id) {
			t.Errorf("Without(%s) left %d of %d, error %v", id, len(rest), len(all), err)
		}
	}
	if rest, err := Without(all, ""); err != nil || len(rest) != len(all) {
		t.Errorf("Without nothing left %d of %d, error %v", len(rest), len(all), err)
	}
}

func TestWithoutRefusesAnUnknownGrant(t *testing.T) {
	t.Parallel()
	_, err := Without(All(), "runner/s3:GetObjects")
	if err == nil || !strings.Contains(err.Error(), "runner/s3:GetObject,") {
		t.Errorf("error %v, want one that lists the grants", err)
	}
}

func TestForKeepsAFunctionToItsOwn(t *testing.T) {
	t.Parallel()
	total := 0
	for _, f := range Functions {
		held := For(All(), f)
		total += len(held)
		for _, g := range held {
			if g.Function != f {
				t.Errorf("For(%s) has %s", f, g.ID())
			}
		}
	}
	if total != len(All()) {
		t.Errorf("the functions hold %d grants of %d", total, len(All()))
	}
}

func TestOnlyTheKeyOfTheModelInUseIsGranted(t *testing.T) {
	t.Parallel()
	const prefix = "runner/ssm:GetParameter/"
	for model, want := range map[string][]string{
		"":                   {"anthropic-api-key", "openai-api-key"},
		"anthropic:a-model":  {"anthropic-api-key"},
		"openai:a:b":         {"openai-api-key"},
		"scripted:anthropic": nil,
	} {
		left := ForModel(All(), model)
		var got []string
		for _, id := range IDs(left) {
			if secret, ok := strings.CutPrefix(id, prefix); ok && strings.HasSuffix(secret, "-api-key") {
				got = append(got, secret)
			}
		}
		if !slices.Equal(got, want) || len(left) != len(All())-2+len(want) {
			t.Errorf("model %q: keys %v and %d grants in all, want %v and the rest untouched", model, got, len(left), want)
		}
	}
}
