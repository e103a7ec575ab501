package local_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/triage/local"
	"intenthint/triage/testdata"
)

// TestSet holds the labelled set to what its README.md says.
func TestSet(t *testing.T) {
	type line struct {
		Group, ID, Sender, Text, BotName, Label, Lang string
		At                                            int64
		Bot                                           bool
	}
	readme, err := os.ReadFile("../testdata/README.md")
	require.NoError(t, err)
	files, err := fs.Glob(testdata.Groups, "*.jsonl")
	require.NoError(t, err)
	require.Len(t, files, 13)
	ids := map[string]bool{}
	var people, respond, bots int
	singles := 0
	for _, name := range files {
		data, err := fs.ReadFile(testdata.Groups, name)
		require.NoError(t, err)
		var at int64
		var p, r, b int
		var l line
		for row := range strings.Lines(string(data)) {
			l = line{}
			d := json.NewDecoder(strings.NewReader(row))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(&l))
			require.False(t, ids[l.ID], l.ID)
			ids[l.ID] = true
			if name == "single.jsonl" {
				require.Empty(t, l.Group+l.Sender+l.BotName)
				require.NotEmpty(t, l.Text)
				require.Contains(t, []string{"respond", "skip"}, l.Label)
				singles++
				continue
			}
			require.Equal(t, name, l.Group+".jsonl")
			require.Contains(t, []string{"en", "de", "zh", "ja"}, l.Lang)
			require.NotEmpty(t, l.Sender)
			require.NotEmpty(t, strings.TrimSpace(l.Text), l.ID)
			require.NotEmpty(t, l.BotName)
			require.GreaterOrEqual(t, l.At, at, l.ID)
			at = l.At
			switch {
			case l.Bot:
				require.Empty(t, l.Label, l.ID)
				b++
			case l.Label == "respond":
				r++
				p++
			default:
				require.Equal(t, "skip", l.Label, l.ID)
				p++
			}
		}
		if name == "single.jsonl" {
			continue
		}
		require.Contains(t, string(readme), fmt.Sprintf("| `%s` | %s | %d | %d | %d |", l.Group, l.Lang, p, r, b))
		people, respond, bots = people+p, respond+r, bots+b
	}
	require.Contains(t, string(readme), fmt.Sprintf("| all | | %d | %d | %d |", people, respond, bots))
	require.Contains(t, string(readme), fmt.Sprintf("%d messages without a thread", singles))
	require.Len(t, local.Bundled(), people+singles)
}

func TestReadGivesWhatWasSaidBefore(t *testing.T) {
	var b strings.Builder
	at := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	say := func(sender, text string, gap time.Duration) {
		at = at.Add(gap)
		fmt.Fprintf(&b, `{"group":"g","sender":%q,"text":%q,"at":%d,"bot":%t,"botName":"Bo","label":"skip","lang":"en"}`+"\n",
			sender, text, at.UnixMilli(), sender == "Bo")
	}
	say("a", "one", 0)
	say("Bo", "two", time.Minute)
	say("b", "three", time.Hour)
	say("c", "four", time.Hour+time.Second)
	for range 30 {
		say("d", "more", time.Second)
	}
	set, err := local.Read(fstest.MapFS{"g.jsonl": {Data: []byte(b.String())}, "note.txt": {Data: []byte("x")}})
	require.NoError(t, err)
	require.Len(t, set, 33, "the bot's own messages are no examples")
	require.Empty(t, set[0].Recent)
	require.Equal(t, "three", set[1].Text)
	require.Len(t, set[1].Recent, 2)
	require.True(t, set[1].Recent[1].Bot)
	require.Equal(t, time.Hour, set[1].At.Sub(set[1].Recent[1].At))
	require.Empty(t, set[2].Recent, "more than an hour of silence")
	require.Len(t, set[32].Recent, local.MaxRecent)
}

func TestReadNamesFaults(t *testing.T) {
	for name, tt := range map[string]struct{ data, want string }{
		"not JSON": {"{\n", "g.jsonl: line 1: "},
		"no label": {`{"text":"a","label":"skip"}` + "\n" + `{"text":"b"}`, `g.jsonl: line 2: label "" is not respond or skip`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := local.Read(fstest.MapFS{"g.jsonl": {Data: []byte(tt.data)}})
			require.ErrorContains(t, err, tt.want)
		})
	}
}
