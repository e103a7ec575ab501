package conversation

import (
	"regexp"
	"strings"
)

// queueTitle begins the prompt that collects messages which came while the agent
// was busy (openclaw 2026.9.6, src/auto-reply/reply/queue/drain.ts).
const queueTitle = "[Queued messages while agent was busy]"

// queueItem matches the head of a collected message.
var queueItem = regexp.MustCompile(`(?:^|\s)---\s+Queued #\d{1,6}(?: \(from [^)\n]{0,100}\))?(?:\s|$)`)

// queued returns the messages that a prompt collects, nil if it collects none.
func queued(words string) []string {
	if !strings.HasPrefix(words, queueTitle) {
		return nil
	}
	items := queueItem.Split(words[len(queueTitle):], -1)
	if len(items) < 2 {
		return nil
	}
	return items[1:] // in front of the first stands what was dropped
}
