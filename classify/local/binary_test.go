package local

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
)

// tiny is a catalogue of which the binary form is a few kilobytes.
func tiny() *intents.Catalog {
	return intents.NewCatalog([]intents.Intent{
		{ID: "WEATHER", Name: "weather", Triggers: []string{"The user asks about the weather. Not for music."}, Examples: []string{
			"will it rain tomorrow", "what is the weather like", "is it raining in Rome", "how cold is it today", "明天會下雨嗎",
		}},
		{ID: "MUSIC", Name: "music", Triggers: []string{"The user wants to hear music"}, Examples: []string{
			"play some jazz", "play the next song", "put on music for the evening", "louder please, I love this song", "放一點音樂",
		}},
		{ID: "MAIL", Name: "mail", Triggers: []string{"The user reads or writes mail"}, Examples: []string{
			"read my mail", "write a mail to Anna", "is there mail from the bank today", "send it tomorrow", "幫我寫信給老闆",
		}},
		{ID: intents.FallbackID, Name: "Other", Examples: []string{"asdf", "you are funny"}},
	})
}

func binaryForm(t testing.TB, m *Model) []byte {
	t.Helper()
	data, err := m.AppendBinary(nil)
	require.NoError(t, err)
	return data
}

// predictions are all that the model says of some messages, alone and as
// follow-ups.
func predictions(m *Model, messages []string) []any {
	var out []any
	earlier := []payload.Turn{{Role: "user", Text: "will it rain tomorrow"}}
	for _, message := range messages {
		out = append(out, m.Predict(message, nil, nil), m.Classify(classify.Input{Latest: message, Conversation: earlier}))
	}
	return out
}

func TestAModelReadSaysWhatTheTrainedOneSays(t *testing.T) {
	messages := []string{"", "yes please", "好啊", "qzxv wkjq", "what about Rome instead", "could you check the invoice from Keller?", strings.Repeat("rain ", 400)}
	for name, cat := range map[string]*intents.Catalog{
		"bundled": intents.Bundled(), "tiny": tiny(), "no intents": intents.NewCatalog(nil),
		"one": intents.NewCatalog([]intents.Intent{{ID: "A", Triggers: []string{"a"}}}),
	} {
		t.Run(name, func(t *testing.T) {
			trained := Train(cat)
			data := binaryForm(t, trained)
			read, err := Read(cat.Without([]string{"MUSIC"}), data)
			require.NoError(t, err)
			require.Equal(t, predictions(trained, messages), predictions(read, messages))
			for _, in := range append(slices.Clone(cat.Enabled()), cat.Fallback()) {
				for _, message := range in.Examples {
					in := classify.Input{Latest: message}
					require.Equal(t, trained.Classify(in), read.Classify(in))
				}
			}
			require.Equal(t, data, binaryForm(t, read), "written again")
		})
	}
}

func TestReadRefuses(t *testing.T) {
	data := binaryForm(t, Train(tiny()))
	with := func(change func(in []intents.Intent) []intents.Intent) *intents.Catalog {
		cat := tiny()
		return intents.NewCatalog(change(append(slices.Clone(cat.Enabled()), cat.Fallback())))
	}
	for _, row := range []struct {
		name   string
		change func(in []intents.Intent) []intents.Intent
		want   error
	}{
		{"another name and prompt", func(in []intents.Intent) []intents.Intent { in[0].Name, in[0].Prompt = "x", "y"; return in }, nil},
		{"another id", func(in []intents.Intent) []intents.Intent { in[0].ID = "MAILS"; return in }, ErrOther},
		{"another example", func(in []intents.Intent) []intents.Intent { in[0].Examples[0] += "s"; return in }, ErrOther},
		{"another trigger", func(in []intents.Intent) []intents.Intent { in[0].Triggers[0] += "s"; return in }, ErrOther},
		{"an example as a trigger", func(in []intents.Intent) []intents.Intent {
			in[0].Triggers, in[0].Examples = append(in[0].Triggers, in[0].Examples[0]), in[0].Examples[1:]
			return in
		}, ErrOther},
		{"another example of the fallback", func(in []intents.Intent) []intents.Intent { in[3].Examples[0] += "s"; return in }, ErrOther},
		{"fewer intents", func(in []intents.Intent) []intents.Intent { return in[1:] }, ErrOther},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Read(with(row.change), data)
			require.ErrorIs(t, err, row.want)
		})
	}

	for name, change := range map[string]func(b []byte) []byte{
		"nothing":         func([]byte) []byte { return nil },
		"a header":        func(b []byte) []byte { return b[:headerSize] },
		"cut short":       func(b []byte) []byte { return b[:len(b)-1] },
		"more":            func(b []byte) []byte { return append(b, 0) },
		"another file":    func(b []byte) []byte { b[0]++; return b },
		"a flipped bit":   func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"zeroes":          func(b []byte) []byte { clear(b[headerSize:]); return b },
		"an endless file": func(b []byte) []byte { clear(b[headerSize:]); return signed(b) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(tiny(), change(slices.Clone(data)))
			require.ErrorIs(t, err, ErrDamaged)
		})
	}
	later := slices.Clone(data)
	later[len(magic)]++
	_, err := Read(tiny(), later)
	require.ErrorIs(t, err, ErrOther)
}

// signed gives data the header of tiny's model and the right checksum.
func signed(data []byte) []byte {
	id := identity(tiny())
	out := binary.LittleEndian.AppendUint32([]byte(magic), formatVersion)
	out = append(out, id[:]...)
	payload := data[min(len(data), headerSize):]
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(payload, castagnoli))
	return append(out, payload...)
}

// Places all over a file are set to values that are out of some range: what is
// read all the same must classify.
func TestReadDamage(t *testing.T) {
	cat := tiny()
	data := binaryForm(t, Train(cat))
	refused := 0
	for i, step := headerSize, 1; i < len(data); i += step {
		if i >= headerSize+countsSize {
			step = 61
		}
		for _, v := range []byte{0x00, 0x7f, 0x80, 0xff} {
			changed := slices.Clone(data)
			changed[i] = v
			m, err := Read(cat, signed(changed))
			if err != nil {
				refused++
				continue
			}
			predictions(m, []string{"will it rain tomorrow", "play some jazz"})
		}
	}
	require.Greater(t, refused, 100)
}

func FuzzRead(f *testing.F) {
	cat := tiny()
	data := binaryForm(f, Train(cat))
	f.Add(data)
	f.Add(data[:headerSize+countsSize])
	huge := slices.Clone(data)
	for i := range 16 {
		huge[headerSize+i] = 0xff
	}
	f.Add(huge)
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Read(cat, data); err != nil {
			require.True(t, isOne(err), "%v", err)
		}
		m, err := Read(cat, signed(data))
		if err != nil {
			require.True(t, isOne(err), "%v", err)
			return
		}
		predictions(m, []string{"", "will it rain tomorrow", "yes please", "play some jazz and read my mail 明天會下雨嗎"})
	})
}

func isOne(err error) bool { return errors.Is(err, ErrOther) || errors.Is(err, ErrDamaged) }
