package e2e

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// post makes a webhook call of its own and returns the status.
func post(t testing.TB, p *person, w hooked, secret string, body []byte) int {
	t.Helper()
	request, err := http.NewRequestWithContext(p.ctx, http.MethodPost, w.url()+"/telegram", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if secret != "" {
		request.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// samples are webhook bodies of all kinds.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../shared/channel/telegram/testdata/update/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("finding the samples: %d, %v", len(paths), err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = body
	}
	return all
}

// turns says what the model is given of each sample that makes a turn; the others make none.
var turns = map[string][]string{
	"album_part1_caption":             {"Lorem ipsum dolor sit.\n\n[a photo came with this message; it can't be read yet]"},
	"edit_pair_1_message":             {"lorem"},
	"entities_out_of_order":           {"Lore mip sumdolo"},
	"forward_channel_in_forward_from": {"<quoted>\nForwarded from Example title:\n/start\n</quoted>", "[Forwarded a message.]"},
	"forward_legacy":                  {"<quoted>\nForwarded from Alex Example:\n/start\n</quoted>", "[Forwarded a message.]"},
	"forward_origin_user":             {"<quoted>\nForwarded from 𝓐𝓵𝓮𝔁:\nLorem ipsum\n</quoted>", "[Forwarded a message.]"},
	"photo_caption_entities":          {"https://e.coxxx\n\n[a photo came with this message; it can't be read yet]"},
	"reply":                           {"<quoted>\nIn reply to someone:\nLoremips\n</quoted>", "/start"},
	"sticker_animated":                {"😡"},
	"text_effect":                     {"Lo Rem Ipsumdo"},
	"text_private":                    {"lorem ipsum"},
	"two_msgs_same_second_a":          {"1"},
	"two_msgs_same_second_b":          {"2"},
}

// unread are the samples that are answered without a turn, since they bring nothing but an attachment.
var unread = []string{"album_item_video", "album_part2_no_caption", "audio", "document", "photo_sizes", "voice"}

// The persons who have written the samples.
const (
	firstPerson  = 1000000001
	secondPerson = 6000000001
	// bySecond is the one sample that is the second person's and makes a turn.
	bySecond = "forward_origin_user"
)

var updateID = regexp.MustCompile(`"update_id"\s*:\s*\d+`)

// Every sample is one delivery, so each gets an update_id of its own.
func samplesMakeTheRightTurns(t testing.TB, w world) {
	first, second := newcomer(t, w), newcomer(t, w)
	first.id, second.id = firstPerson, secondPerson
	first.pair(t, w.code(t, "first"))
	second.pair(t, w.code(t, "second"))
	all := samples(t)
	var want []string
	for i, name := range slices.Sorted(maps.Keys(all)) {
		body := updateID.ReplaceAll(all[name], []byte(`"update_id":`+strconv.Itoa(500_000_000+i)))
		for _, secret := range []string{"", "wrong"} {
			if got := post(t, first, w.(hooked), secret, body); got != http.StatusUnauthorized {
				t.Errorf("%s: status %d with the secret %q, want 401", name, got, secret)
			}
		}
		if got := post(t, first, w.(hooked), webhookSecret, body); got != http.StatusOK {
			t.Errorf("%s: status %d, want 200", name, got)
		}
		if name != bySecond {
			want = append(want, turns[name]...)
		}
	}
	first.gave(t, want)
	first.answered(t, len(turns)-1+len(unread)+1)
	second.gave(t, turns[bySecond])
	second.answered(t, 1+1)
}

// gave expects that the model has been given these texts of the person's, and no others.
func (p *person) gave(t testing.TB, want []string) {
	t.Helper()
	last := "say that was all of " + strconv.FormatInt(p.id, 10)
	p.say(last)
	got := heard(p.mind.wait(p.ctx, t, last, 1))
	want = append(slices.Clone(want), last)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the model was given (-want +got)\n%s", diff)
	}
}

// answered expects so many answers, and no more.
func (p *person) answered(t testing.TB, n int) {
	t.Helper()
	for range n {
		p.next(t)
	}
	p.heardAll(t)
}

func sameBodyMakesOneTurn(t testing.TB, w world) {
	p := owner(t, w)
	text := "say once " + strconv.FormatInt(p.id, 10)
	id := strconv.FormatInt(p.id, 10)
	body := []byte(`{"update_id":6` + id + `,"message":{"message_id":9` + id + `,"date":1796040000,"chat":{"id":` + id +
		`,"type":"private"},"from":{"id":` + id + `,"is_bot":false,"first_name":"Alex"},"text":"` + text + `"}}`)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := post(t, p, w.(hooked), webhookSecret, body); got != http.StatusOK {
				t.Errorf("status %d, want 200", got)
			}
		})
	}
	all.Wait()
	p.hears(t, strings.TrimPrefix(text, "say "))
	p.asks(t, "say next", "next")
	p.heardAll(t)
	if got := len(p.mind.asked(text)); got != 1 {
		t.Errorf("the model was asked %d times, want once", got)
	}
}

func bodyThatIsTooLargeIsRefused(t testing.TB, w world) {
	p := newcomer(t, w)
	body := []byte(`{"update_id":1,"message":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`)
	if got := post(t, p, w.(hooked), webhookSecret, body); got != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d for a body of a megabyte, want 413", got)
	}
}
