package markup

import "unicode"

const (
	zeroWidthJoiner = '\u200D'
	firstRegional   = '\U0001F1E6' // two regional indicators make one flag
	lastRegional    = '\U0001F1FF'
)

// joins says whether a rune belongs to the character before it: accents, variation selectors, skin tones, tags, joiners.
func joins(r rune) bool {
	return r == zeroWidthJoiner || unicode.Is(unicode.M, r) || r >= 0x1F3FB && r <= 0x1F3FF ||
		r >= 0xE0020 && r <= 0xE007F || hangulTail(r)
}

// hangulTail says whether a rune is the vowel or final consonant of a Korean syllable written in parts.
func hangulTail(r rune) bool { return r >= 0x1160 && r <= 0x11FF }

func regional(r rune) bool { return r >= firstRegional && r <= lastRegional }

// splittable says whether a text may be cut before text[i]: not inside what readers see as one character. It is the
// pragmatic part of Unicode's rule: accents, joined emoji, flags.
func splittable(text []rune, i int) bool {
	switch {
	case joins(text[i]) || text[i-1] == zeroWidthJoiner:
		return false
	case regional(text[i]) && regional(text[i-1]):
		return flagsBefore(text, i)%2 == 0
	}
	return true
}

// flagsBefore counts the regional indicators that end at i, as far back as matters: no text has flags without end.
func flagsBefore(text []rune, i int) int {
	n := 0
	for n < i && n < 2*maxUnits && regional(text[i-1-n]) {
		n++
	}
	return n
}

// units is how many UTF-16 units a rune takes, in which Telegram counts.
func units(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// visible says whether a rune shows. Telegram refuses a text of which none does.
func visible(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0', '\uFFFC': // fillers, and the blank of Braille
		return false
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.M, unicode.Zs)
}

// shown is a rune as Telegram shows it: control characters are spaces, breaks of lines and directions of Unicode's own
// are dropped. A tab, which it shows as one space, is kept as wide as code needs it.
func shown(r rune, kind codeKind) []rune {
	switch {
	case r == '\n':
		return []rune{r}
	case r == '\t' && kind == blockCode:
		return []rune("    ")
	case r == '\r', r >= 0x2028 && r <= 0x202E:
		return nil
	case r < ' ', r == 0x7F:
		return []rune{' '}
	}
	return []rune{r}
}
