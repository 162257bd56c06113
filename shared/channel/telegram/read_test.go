package telegram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const bot = 123456789

func sample(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "update", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func samples(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "update", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("finding samples: %d, %v", len(paths), err)
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.Base(p)
	}
	return names
}

func mustRead(t *testing.T, body string) reading {
	t.Helper()
	u, err := Decode([]byte(body))
	if err != nil {
		t.Fatalf("Decode(%s): %v", body, err)
	}
	return read(u, bot, now)
}

// meaning is the part of a reading that differs from sample to sample.
type meaning struct {
	Ignored           Outcome
	Text, Quote, Code string
	Told              bool
}

func TestEachSampleMeansWhatItShould(t *testing.T) {
	t.Parallel()
	const cantRead = " came with this message; it can't be read yet]"
	want := map[string]meaning{
		"album_forum_group.json":               {Ignored: OtherChat},
		"album_item_video.json":                {Text: "[an album]", Told: true},
		"album_part1_caption.json":             {Text: "Lorem ipsum dolor sit.\n\n[a photo" + cantRead},
		"album_part2_no_caption.json":          {Text: "[an album]", Told: true},
		"audio.json":                           {Text: "[an audio file]", Told: true},
		"business_message.json":                {Ignored: OtherKind},
		"callback_inline_message.json":         {Ignored: OtherKind},
		"document.json":                        {Text: "[a document]", Told: true},
		"edit_pair_1_message.json":             {Text: "lorem"},
		"edit_pair_2_edited.json":              {Ignored: OtherKind},
		"edited_channel_post.json":             {Ignored: OtherKind},
		"edited_message.json":                  {Ignored: OtherKind},
		"empty_message_date0.json":             {Ignored: NotPerson},
		"entities_out_of_order.json":           {Text: "Lore mip sumdolo"},
		"ephemeral_message.json":               {Ignored: OtherChat},
		"forum_topic_closed_general.json":      {Ignored: OtherChat},
		"forum_topic_created.json":             {Ignored: OtherChat},
		"forum_topic_message.json":             {Ignored: OtherChat},
		"forward_channel_in_forward_from.json": {Text: "[Forwarded a message.]", Quote: "Forwarded from Example title:\n/start"},
		"forward_legacy.json":                  {Text: "[Forwarded a message.]", Quote: "Forwarded from Alex Example:\n/start"},
		"forward_origin_user.json":             {Text: "[Forwarded a message.]", Quote: "Forwarded from 𝓐𝓵𝓮𝔁:\nLorem ipsum"},
		"guest_message.json":                   {Ignored: OtherKind},
		"migrate_from.json":                    {Ignored: OtherChat},
		"migrate_to.json":                      {Ignored: OtherChat},
		"my_chat_member_kicked_private.json":   {Ignored: OtherKind},
		"photo_caption_entities.json":          {Text: "https://e.coxxx\n\n[a photo" + cantRead},
		"photo_sizes.json":                     {Text: "[a photo]", Told: true},
		"purchased_paid_media.json":            {Ignored: OtherKind},
		"reaction_added.json":                  {Ignored: OtherKind},
		"reaction_count.json":                  {Ignored: OtherKind},
		"reaction_removed_actor_chat.json":     {Ignored: OtherKind},
		"reply.json":                           {Text: "/start", Quote: "In reply to someone:\nLoremips"},
		"service_pinned.json":                  {Ignored: OtherChat},
		"sticker_animated.json":                {Text: "😡"},
		"stopped_message_generation.json":      {Ignored: OtherKind},
		"story_no_text.json":                   {Ignored: OtherChat},
		"text_effect.json":                     {Text: "Lo Rem Ipsumdo"},
		"text_private.json":                    {Text: "lorem ipsum"},
		"two_msgs_same_second_a.json":          {Text: "1"},
		"two_msgs_same_second_b.json":          {Text: "2"},
		"unknown_update_kind.json":             {Ignored: OtherKind},
		"venue_location.json":                  {Ignored: NotPerson},
		"voice.json":                           {Text: "[a voice note]", Told: true},
	}
	for _, name := range samples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := mustRead(t, string(sample(t, name)))
			got := meaning{in.ignored, in.message.Text, in.message.Quote, in.code, in.tell != ""}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessageIsWholeAndInOrder(t *testing.T) {
	t.Parallel()
	got := mustRead(t, string(sample(t, "text_private.json"))).message
	want := inbox.Message{
		Update:     "892252934/1000000001/6557",
		Sender:     "1000000001",
		ExternalID: "6557",
		Sent:       time.Unix(1569518342, 0).UTC(),
		Sequence:   892252934,
		Text:       "lorem ipsum",
		Route:      channel.Route{Connection: "telegram-123456789", Conversation: "1000000001", ReplyTo: "6557"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// private is a message of a private chat with more fields.
func private(fields string) string {
	return `{"update_id":7,"message":{"message_id":5,"date":1700000000,"chat":{"id":42,"type":"private"},` +
		`"from":{"id":42,"is_bot":false,"first_name":"Alex"},` + fields + `}}`
}

func TestContentBecomesWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields string
		want   meaning
	}{
		"location": {`"location":{"latitude":51.5,"longitude":-0.12}`, meaning{Text: "Location: 51.5, -0.12"}},
		"venue wins over location": {
			`"location":{"latitude":1,"longitude":2},"venue":{"title":"Café","address":"1 Example Street","location":{"latitude":51.5,"longitude":-0.12}}`,
			meaning{Text: "Place: Café, 1 Example Street, 51.5, -0.12"},
		},
		"a contact is a third party's": {
			`"contact":{"first_name":"Sam","last_name":"Example","phone_number":"+4900"}`,
			meaning{Text: "[Shared a contact.]", Quote: "Contact: Sam Example, +4900"},
		},
		"one's own contact is one's own words": {
			`"contact":{"first_name":"Alex","phone_number":"+4901","user_id":42}`, meaning{Text: "Contact: Alex, +4901"},
		},
		"sticker without emoji": {`"sticker":{"file_id":"x"}`, meaning{Text: "[a sticker]", Told: true}},
		"story":                 {`"story":{"id":2}`, meaning{Text: "[a story]", Told: true}},
		"animation over document": {
			`"animation":{},"document":{}`, meaning{Text: "[an animation]", Told: true},
		},
		"service message":         {`"pinned_message":{}`, meaning{Ignored: NoContent}},
		"unknown content":         {`"hologram":{"x":1}`, meaning{Ignored: NoContent}},
		"blank text":              {`"text":"  \n "`, meaning{Ignored: NoContent}},
		"business connection":     {`"text":"x","business_connection_id":"B"`, meaning{Ignored: OtherChat}},
		"a chat that speaks":      {`"text":"x","sender_chat":{"id":-1}`, meaning{Ignored: NotPerson}},
		"odd field beside a text": {`"text":"hello","entities":{"a":1},"reply_to_message":[],"quote":7`, meaning{Text: "hello"}},
		"text of a wrong type":    {`"text":{"x":1},"caption":"hello","photo":"?"`, meaning{Text: "hello\n\n[a photo came with this message; it can't be read yet]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := mustRead(t, private(c.fields))
			got := meaning{in.ignored, in.message.Text, in.message.Quote, in.code, in.tell != ""}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuoteNamesItsAuthor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fields, text, quote string }{
		"of a person": {
			`"text":"yes","reply_to_message":{"text":"coming?","from":{"id":9,"first_name":"Sam"}}`,
			"yes", "In reply to Sam:\ncoming?",
		},
		"of the bot itself": {
			`"text":"yes","reply_to_message":{"text":"coming?","from":{"id":123456789,"is_bot":true,"first_name":"Bobbin"}}`,
			"yes", "In reply to your own message:\ncoming?",
		},
		"the marked part goes before the whole": {
			`"text":"this?","quote":{"text":"part"},"reply_to_message":{"text":"a part of it","from":{"id":9,"username":"sam"}}`,
			"this?", "In reply to sam:\npart",
		},
		"from another chat": {
			`"text":"?","quote":{"text":"news"},"external_reply":{"origin":{"chat":{"title":"Daily"}}}`,
			"?", "In reply to Daily:\nnews",
		},
		"an attachment":     {`"text":"?","reply_to_message":{"photo":[{}]}`, "?", "In reply to someone:\n[a photo]"},
		"topic root":        {`"text":"hi","reply_to_message":{"forum_topic_created":{"name":"x"}}`, "hi", ""},
		"origin lacks type": {`"text":"hi","forward_origin":{"sender_user_name":"Hidden"}`, "[Forwarded a message.]", "Forwarded from Hidden:\nhi"},
		"origin is odd":     {`"text":"hi","forward_origin":7`, "[Forwarded a message.]", "Forwarded from someone:\nhi"},
		"reply and forward": {
			`"text":"hi","forward_date":1,"reply_to_message":{"text":"q"}`,
			"[Forwarded a message.]", "In reply to someone:\nq\n\nForwarded from someone:\nhi",
		},
		"forwarded contact": {
			`"forward_date":1,"contact":{"first_name":"Sam"}`,
			"[Forwarded a message.]", "Forwarded from someone:\nContact: Sam, unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := mustRead(t, private(c.fields))
			if diff := cmp.Diff([]string{c.text, c.quote}, []string{in.message.Text, in.message.Quote}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPairingNeedsACodeInTheSendersOwnWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/start ABCD-1234":                  "ABCD-1234",
		"/start@example_bot ABCD-1234":      "ABCD-1234",
		"/start  x ":                        "x",
		"/start":                            "",
		"/start two words":                  "",
		"please /start ABCD":                "",
		"/started ABCD":                     "",
		"/start " + strings.Repeat("x", 65): "",
	} {
		if got := mustRead(t, private(`"text":"`+text+`"`)).code; got != want {
			t.Errorf("%q: code %q, want %q", text, got, want)
		}
		if got := mustRead(t, private(`"forward_date":1,"text":"`+text+`"`)).code; got != "" {
			t.Errorf("forwarded %q: code %q", text, got)
		}
		if got := mustRead(t, private(`"photo":[],"caption":"`+text+`"`)).code; got != "" {
			t.Errorf("caption %q: code %q", text, got)
		}
	}
}

func TestStopIsTheWholeOfTheSendersOwnText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"/stop":                true,
		"/stop  ":              true,
		`/stop\n`:              true,
		"/stop@example_bot":    true,
		"/stop@example_bot ":   true,
		"/stop now":            false,
		"/stop@example_bot no": false,
		"/stopx":               false,
		"/Stop":                false,
		"/stop/":               false,
		"/stop@":               false,
		"stop":                 false,
		"please /stop":         false,
		`first\n/stop`:         false,
		`/stop\n/stop`:         false,
		"/reset":               false,
		"/start":               false,
	} {
		in := mustRead(t, private(`"text":"`+text+`"`))
		if in.stop != want || in.ignored != 0 || want && in.message.Text != "/stop" {
			t.Errorf("%q: stop %v with the text %q, want %v", text, in.stop, in.message.Text, want)
		}
		if mustRead(t, private(`"forward_date":1,"text":"`+text+`"`)).stop {
			t.Errorf("forwarded %q stops", text)
		}
		if mustRead(t, private(`"photo":[],"caption":"`+text+`"`)).stop {
			t.Errorf("the caption %q stops", text)
		}
		if mustRead(t, private(`"text":"x","quote":{"text":"`+text+`"}`)).stop {
			t.Errorf("the quote %q stops", text)
		}
	}
}

func TestALoneCommandLosesTheBotsName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/reset":                     "/reset",
		"/reset@example_bot":         "/reset",
		"/new_day@example_bot ":      "/new_day",
		"/help@example_bot":          "/help",
		"/start@example_bot":         "/start",
		"/reset@example_bot please":  "/reset@example_bot please",
		"say /reset@example_bot":     "say /reset@example_bot",
		"someone@example.org":        "someone@example.org",
		"/etc/hosts@example":         "/etc/hosts@example",
		"/start@example_bot C0DE":    "/start@example_bot C0DE",
		"/reset@example_bot@another": "/reset@example_bot@another",
	} {
		if got := mustRead(t, private(`"text":"`+text+`"`)).message.Text; got != want {
			t.Errorf("%q arrives as %q, want %q", text, got, want)
		}
		got := mustRead(t, private(`"forward_date":1,"text":"`+text+`"`)).message
		if got.Text != "[Forwarded a message.]" || got.Quote != "Forwarded from someone:\n"+strings.TrimSpace(text) {
			t.Errorf("forwarded %q arrives as %q with the quote %q", text, got.Text, got.Quote)
		}
	}
}

func TestAReplyNamesTheMessageOfItsOwnChat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fields, want string }{
		"none":              {`"text":"hi"`, ""},
		"same chat":         {`"text":"hi","reply_to_message":{"message_id":4,"chat":{"id":42},"text":"q"}`, "4"},
		"deleted meanwhile": {`"text":"hi","reply_to_message":{"message_id":4,"chat":{"id":42},"date":0}`, "4"},
		"part is quoted":    {`"text":"hi","quote":{"text":"q"},"reply_to_message":{"message_id":4,"chat":{"id":42}}`, "4"},
		"with a caption":    {`"caption":"hi","photo":[],"reply_to_message":{"message_id":4,"chat":{"id":42}}`, "4"},
		"what can't be read": {
			`"voice":{},"reply_to_message":{"message_id":4,"chat":{"id":42}}`, "4",
		},
		"other chat":      {`"text":"hi","reply_to_message":{"message_id":4,"chat":{"id":43},"text":"q"}`, ""},
		"chat is unknown": {`"text":"hi","reply_to_message":{"message_id":4,"text":"q"}`, ""},
		"without an ID":   {`"text":"hi","reply_to_message":{"message_id":0,"chat":{"id":42},"text":"q"}`, ""},
		"odd":             {`"text":"hi","reply_to_message":4`, ""},
		"from elsewhere":  {`"text":"hi","external_reply":{"message_id":4,"chat":{"id":42}}`, ""},
	} {
		if got := mustRead(t, private(c.fields)).message.Reply; got != c.want {
			t.Errorf("%s: replies to %q, want %q", name, got, c.want)
		}
	}
}

func TestMissingMessageIDAndDateAreBorne(t *testing.T) {
	t.Parallel()
	m := mustRead(t, `{"update_id":9,"message":{"message_id":0,"date":0,"chat":{"id":42,"type":"private"},"from":{"id":42},"text":"x"}}`).message
	if m.ExternalID != "" || m.Route.ReplyTo != "" || m.Update != "9/42/0" || !m.Sent.Equal(now) {
		t.Errorf("got %+v", m)
	}
}

func TestTooLongATextIsAnsweredNotStored(t *testing.T) {
	t.Parallel()
	in := mustRead(t, private(`"text":"`+strings.Repeat("x", inbox.MaxTextBytes+1)+`"`))
	if in.tell == "" || len(in.message.Text) > 100 {
		t.Errorf("told %q about %d bytes", in.tell, len(in.message.Text))
	}
}

func TestDecodeRefusesOnlyWhatIsNoUpdate(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"update_id":1}`:                        true,
		`{"update_id":1,"message":"?"}`:          true,
		`{"update_id":-1,"x":null}`:              true,
		`{"update_id":9007199254740993}`:         true,
		``:                                       false,
		`null`:                                   false,
		`[]`:                                     false,
		`{"update_id":"1"}`:                      false,
		`{"update_id":1.5}`:                      false,
		`{"message":{}}`:                         false,
		`{"update_id":1`:                         false,
		`{"update_id":1} x`:                      false,
		strings.Repeat(`{"update_id":`, 100_000): false,
	} {
		if _, err := Decode([]byte(body)); (err == nil) != want || err != nil && !errors.Is(err, ErrNotUpdate) {
			t.Errorf("Decode(%.40s): %v", body, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range samples(f) {
		f.Add(sample(f, name))
	}
	f.Add([]byte(private(`"text":"hi","forward_origin":{"chat":[]},"venue":{"location":{"latitude":"x"}}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		u, err := Decode(body)
		if err != nil {
			return
		}
		in := read(u, bot, now)
		if in.ignored == 0 && (in.message.Text == "" || in.message.Sender == "" || len(in.message.Text) > inbox.MaxTextBytes) {
			t.Errorf("a message without text or sender, or too long: %+v", in.message)
		}
	})
}

// door records what knocks, and answers with what it is told.
type door struct {
	receipt inbox.Receipt
	err     error
	calls   []string
}

func (d *door) Accept(_ context.Context, _ time.Time, m inbox.Message) (inbox.Receipt, error) {
	d.calls = append(d.calls, "accept "+m.Text)
	return d.receipt, d.err
}

func (d *door) Pair(_ context.Context, _ time.Time, _ inbox.Message, code string) (inbox.Receipt, error) {
	d.calls = append(d.calls, "pair "+code)
	return d.receipt, d.err
}

func (d *door) Tell(_ context.Context, _ time.Time, m inbox.Message, text string) (inbox.Receipt, error) {
	d.calls = append(d.calls, "tell "+m.Text+": "+text)
	return d.receipt, d.err
}

func (d *door) Stop(_ context.Context, _ time.Time, m inbox.Message) (inbox.Receipt, error) {
	d.calls = append(d.calls, "stop "+m.Update)
	return d.receipt, d.err
}

func TestReceiverKnocksOnceAndCountsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields  string
		receipt inbox.Outcome
		call    string
		want    Outcome
	}{
		"accepted":            {`"text":"hi"`, inbox.Accepted, "accept hi", Accepted},
		"duplicate":           {`"text":"hi"`, inbox.Duplicate, "accept hi", Duplicate},
		"stranger":            {`"text":"hi"`, inbox.Stranger, "accept hi", Stranger},
		"paired":              {`"text":"/start C0DE"`, inbox.Paired, "pair C0DE", Paired},
		"refused":             {`"text":"hi"`, inbox.Refused, "accept hi", Refused},
		"reset":               {`"text":"/reset@example_bot"`, inbox.Obeyed, "accept /reset", Obeyed},
		"stopped":             {`"text":"/stop"`, inbox.Obeyed, "stop 7/42/5", Obeyed},
		"stopped before":      {`"text":"/stop"`, inbox.Duplicate, "stop 7/42/5", Duplicate},
		"stranger can't stop": {`"text":"/stop"`, inbox.Stranger, "stop 7/42/5", Stranger},
		"told": {
			`"voice":{}`, inbox.Accepted,
			"tell [a voice note]: I can't read a voice note yet. Please tell me in words what it is about.", Told,
		},
		"stranger is not told": {`"video":{}`, inbox.Stranger, "tell [a video]: I can't read a video yet. Please tell me in words what it is about.", Stranger},
		"ignored":              {`"new_chat_title":"x"`, 0, "", NoContent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &door{receipt: inbox.Receipt{Outcome: c.receipt}}
			var counted []Outcome
			r := Receiver{Bot: bot, Door: d, Count: func(o Outcome) { counted = append(counted, o) }}
			u, err := Decode([]byte(private(c.fields)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Receive(t.Context(), now, u)
			if err != nil || got != c.want || len(counted) != 1 || counted[0] != c.want {
				t.Errorf("got %v, %v, counted %v; want %v", got, err, counted, c.want)
			}
			if calls := strings.Join(d.calls, "|"); calls != c.call {
				t.Errorf("knocked %q, want %q", calls, c.call)
			}
		})
	}
}

func TestEveryOutcomeHasItsName(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for o := Undecodable; o <= Failed; o++ {
		names[o.String()] = true
	}
	if len(names) != int(Failed) || names["invalid"] || Outcome(0).String() != "invalid" || Outcome(200).String() != "invalid" {
		t.Errorf("names: %v", names)
	}
}

func TestBotIDComesFromTheToken(t *testing.T) {
	t.Parallel()
	if id, err := BotID("6000000001:AAxx-_9"); id != 6000000001 || err != nil {
		t.Errorf("got %d, %v", id, err)
	}
	for _, bad := range []string{"", "x", "123", ":AA", "0:AA", "12a:AA", "1:A A", "99999999999999999999:AA"} {
		if _, err := BotID(bad); !errors.Is(err, ErrToken) {
			t.Errorf("BotID(%q): %v", bad, err)
		}
	}
}

func TestThePartsOfAnAlbumAreOneMessageToAnswer(t *testing.T) {
	t.Parallel()
	part := func(update, message int) reading {
		return mustRead(t, fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1700000000,"media_group_id":"g1",
			"from":{"id":7,"first_name":"A"},"chat":{"id":7,"type":"private"},"photo":[{"file_id":"f"}]}}`, update, message))
	}
	first, second := part(1, 10), part(2, 11)
	if first.message.Update != second.message.Update {
		t.Errorf("two parts of an album are answered apart: %q, %q", first.message.Update, second.message.Update)
	}
	if first.message.Group == "" || first.message.Group != second.message.Group {
		t.Errorf("two parts of an album are of the groups %q and %q", first.message.Group, second.message.Group)
	}
	single := mustRead(t, `{"update_id":1,"message":{"message_id":1,"date":1700000000,"text":"hello","from":{"id":7,"first_name":"A"},
		"chat":{"id":7,"type":"private"}}}`)
	if single.message.Group != "" {
		t.Errorf("a message by itself is of the group %q", single.message.Group)
	}
}

func TestAlbumsKeepApartWhateverTheirIDIs(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for _, group := range []string{`"g1"`, `"g2"`, `7`, `8`, `{"id":1}`, `"` + strings.Repeat("g", 5000) + `"`} {
		key := mustRead(t, `{"update_id":1,"message":{"message_id":1,"date":1700000000,"media_group_id":`+group+`,
			"chat":{"id":42,"type":"private"},"from":{"id":42,"is_bot":false},"photo":[{"file_id":"x"}]}}`).message.Update
		if other, ok := keys[key]; ok || len(key) > 64 || !strings.HasPrefix(key, "album-") {
			t.Errorf("the album %.20s has the key %q; the album %.20s too", group, key, other)
		}
		keys[key] = group
	}
}
