package eligibility

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func defaults() Rules { return Rules{Agents: []string{"*"}, AllowedChatTypes: []string{ChatDirect}} }

// direct is a turn that gets a hint under the default rules.
func direct() payload.Context {
	return payload.Context{
		AgentID: "main", SessionKey: "agent:main:telegram:direct:123", SessionID: "s1", Trigger: "user",
		MessageProvider: "telegram", Channel: "telegram", ChannelID: "123",
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		rules  func(*Rules)
		ctx    func(*payload.Context)
		prompt string
		none   bool // no intents left
		want   Skip
	}{
		"a direct message": {want: None},

		"1 heartbeat":        {ctx: func(c *payload.Context) { c.Trigger = "heartbeat" }, want: NotUserTrigger},
		"1 cron":             {ctx: func(c *payload.Context) { c.Trigger = "cron" }, want: NotUserTrigger},
		"1 an empty trigger": {ctx: func(c *payload.Context) { c.Trigger, c.EmptyTrigger = "", true }, want: NotUserTrigger},
		"1 a trigger in capitals is another trigger": {ctx: func(c *payload.Context) { c.Trigger = "User" }, want: NotUserTrigger},
		"1 an absent trigger fails at 5 only":        {ctx: func(c *payload.Context) { c.Trigger = "" }, want: NotInteractive},
		"1 an absent trigger of a subagent":          {ctx: func(c *payload.Context) { c.Trigger, c.SessionKey = "", "agent:main:subagent:1" }, want: InternalSession},

		"2 memory by key":                       {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:active-memory:1" }, want: InternalSession},
		"2 our own by key":                      {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:intention-hint:1" }, want: InternalSession},
		"2 subagent by key":                     {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:subagent:1" }, want: InternalSession},
		"2 in capitals":                         {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:SubAgent:1" }, want: InternalSession},
		"2 at the end of a key is not internal": {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:direct:subagent" }, want: None},
		"2 memory by id":                        {ctx: func(c *payload.Context) { c.SessionID = "active-memory-1" }, want: InternalSession},
		"2 our own by id":                       {ctx: func(c *payload.Context) { c.SessionID = "intention-hint-1" }, want: InternalSession},
		"2 an id that only holds it":            {ctx: func(c *payload.Context) { c.SessionID = "my-active-memory-1" }, want: None},

		"3 announce":           {ctx: func(c *payload.Context) { c.Provenance.Kind = "inter_session" }, want: InternalInput},
		"3 another provenance": {ctx: func(c *payload.Context) { c.Provenance.Kind = "internal_system" }, want: None},
		"3 comes after 2":      {ctx: func(c *payload.Context) { c.Provenance.Kind, c.SessionID = "inter_session", "active-memory-1" }, want: InternalSession},
		"3 comes before 4":     {rules: func(r *Rules) { r.Agents = nil }, ctx: func(c *payload.Context) { c.Provenance.Kind = "inter_session" }, want: InternalInput},

		"4 no agent":                      {rules: func(r *Rules) { r.Agents = nil }, want: AgentDisabled},
		"4 another agent":                 {rules: func(r *Rules) { r.Agents = []string{"ops"} }, want: AgentDisabled},
		"4 this agent":                    {rules: func(r *Rules) { r.Agents = []string{"ops", "main"} }, want: None},
		"4 in capitals":                   {rules: func(r *Rules) { r.Agents = []string{"MAIN"} }, want: None},
		"4 a glob":                        {rules: func(r *Rules) { r.Agents = []string{"ma?n*"} }, want: None},
		"4 the agent of the key":          {rules: func(r *Rules) { r.Agents = []string{"ops"} }, ctx: func(c *payload.Context) { c.AgentID, c.SessionKey = "", "agent:ops:telegram:direct:1" }, want: None},
		"4 the agent of the context wins": {rules: func(r *Rules) { r.Agents = []string{"ops"} }, ctx: func(c *payload.Context) { c.SessionKey = "agent:ops:telegram:direct:1" }, want: AgentDisabled},
		"4 main is the last resort":       {rules: func(r *Rules) { r.Agents = []string{"main"} }, ctx: func(c *payload.Context) { c.AgentID, c.SessionKey = "", "x:direct:1" }, want: None},
		"4 comes before 5":                {rules: func(r *Rules) { r.Agents = nil }, ctx: func(c *payload.Context) { c.Trigger = "" }, want: AgentDisabled},

		"5 no key, no webchat, no channel": {ctx: func(c *payload.Context) { c.SessionKey, c.ChannelID = "", "" }, want: NotInteractive},
		"5 webchat without a key":          {ctx: func(c *payload.Context) { c.SessionKey, c.ChannelID, c.MessageProvider = "", "", "webchat" }, want: None},
		"5 webchat by its channel":         {ctx: func(c *payload.Context) { *c = payload.Context{Trigger: "user", Channel: "webchat"} }, want: None},
		"5 a channel without a key":        {ctx: func(c *payload.Context) { c.SessionKey = "" }, want: DeniedChatType},

		"6 a group":                   {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:telegram:group:-1" }, want: DeniedChatType},
		"6 a group that is allowed":   {rules: func(r *Rules) { r.AllowedChatTypes = []string{"direct", "group"} }, ctx: func(c *payload.Context) { c.SessionKey = "agent:main:telegram:group:-1" }, want: None},
		"6 the type in capitals":      {rules: func(r *Rules) { r.AllowedChatTypes = []string{"DIRECT"} }, want: None},
		"6 nothing allowed":           {rules: func(r *Rules) { r.AllowedChatTypes = nil }, want: DeniedChatType},
		"6 the CLI":                   {ctx: func(c *payload.Context) { *c = payload.Context{Trigger: "user", SessionKey: "agent:main:main"} }, want: DeniedChatType},
		"6 the CLI when it is wanted": {rules: func(r *Rules) { r.AllowedChatTypes = []string{"unknown"} }, ctx: func(c *payload.Context) { *c = payload.Context{Trigger: "user", SessionKey: "agent:main:main"} }, want: None},
		"6 the main key of the rules": {rules: func(r *Rules) { r.MainKey = "home" }, ctx: func(c *payload.Context) { c.SessionKey = "agent:main:home" }, want: None},
		"6 comes before 7":            {rules: func(r *Rules) { r.AllowedChatTypes, r.DeniedChatIDs = nil, []string{"telegram:telegram:direct:123"} }, want: DeniedChatType},

		"6 the gateway's word against the key": {ctx: func(c *payload.Context) { c.ChatType = "group" }, want: DeniedChatType},
		"6 the gateway's word for the key":     {ctx: func(c *payload.Context) { c.ChatType, c.SessionKey = "Direct", "agent:main:x:group:5" }, want: None},
		"6 a word that is no chat type":        {ctx: func(c *payload.Context) { c.ChatType = "thread" }, want: None},

		"7 a topic of a denied chat":               {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:123"} }, ctx: func(c *payload.Context) { c.SessionKey += ":topic:42" }, want: DeniedChatID},
		"7 a thread in a topic of an allowed chat": {rules: func(r *Rules) { r.AllowedChatIDs = []string{"telegram:telegram:direct:123"} }, ctx: func(c *payload.Context) { c.SessionKey += ":Topic:42:Thread:1763.1" }, want: None},
		"7 the chat of a denied topic":             {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:123:topic:42"} }, want: None},
		"7 another topic of a denied one":          {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:123:topic:4"} }, ctx: func(c *payload.Context) { c.SessionKey += ":topic:42" }, want: None},
		"7 a chat whose id begins alike":           {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:12"} }, ctx: func(c *payload.Context) { c.SessionKey += ":topic:42" }, want: None},
		"7 denied":                                 {rules: func(r *Rules) { r.DeniedChatIDs = []string{"x", "telegram:telegram:direct:123"} }, want: DeniedChatID},
		"7 denied in capitals":                     {rules: func(r *Rules) { r.DeniedChatIDs = []string{"Telegram:telegram:DIRECT:123"} }, want: DeniedChatID},
		"7 another is denied":                      {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:12"} }, want: None},
		"7 allowed":                                {rules: func(r *Rules) { r.AllowedChatIDs = []string{"telegram:telegram:direct:123"} }, want: None},
		"7 another is allowed":                     {rules: func(r *Rules) { r.AllowedChatIDs = []string{"telegram:telegram:direct:12"} }, want: DeniedChatID},
		"7 denied wins over allowed": {rules: func(r *Rules) {
			r.AllowedChatIDs, r.DeniedChatIDs = []string{"telegram:telegram:direct:123"}, []string{"telegram:telegram:direct:123"}
		}, want: DeniedChatID},
		"7 a key in capitals": {rules: func(r *Rules) { r.AllowedChatIDs = []string{"telegram:telegram:direct:abc"} }, ctx: func(c *payload.Context) { c.SessionKey = "agent:main:Telegram:Direct:ABC" }, want: None},
		"7 comes before 8":    {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:123"} }, prompt: " ", want: DeniedChatID},

		"8 a blank prompt":                      {prompt: " \n\t\u3000", want: EmptyPrompt},
		"8 an invisible prompt":                 {prompt: "\u200b\u200b\ufeff", want: EmptyPrompt},
		"8 no intents":                          {none: true, want: NoIntents},
		"8 a blank prompt comes before intents": {prompt: " ", none: true, want: EmptyPrompt},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, ctx, prompt := defaults(), direct(), "hello"
			if c.rules != nil {
				c.rules(&rules)
			}
			if c.ctx != nil {
				c.ctx(&ctx)
			}
			if c.prompt != "" {
				prompt = c.prompt
			}
			require.Equal(t, c.want, Check(rules, ctx, prompt, !c.none))
		})
	}
	require.Equal(t, EmptyPrompt, Check(defaults(), direct(), "", true))
}

func TestChatType(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		key, provider, channelID, mainKey string
		want                              string
	}{
		"explicit":                       {"agent:main:explicit:x", "telegram", "1", "", ChatExplicit},
		"explicit and no more":           {"agent:main:explicit", "", "", "", ChatExplicit},
		"explicit with a suffix":         {"agent:main:explicit-7", "", "", "", ChatExplicit},
		"explicit in capitals":           {"Agent:Main:Explicit:x", "", "", "", ChatExplicit},
		"explicit before group":          {"agent:main:explicit:group:x", "", "", "", ChatExplicit},
		"explicit further on is unknown": {"agent:main:x:explicit", "", "", "", ChatUnknown},
		"explicit without an agent":      {"x:main:explicit", "", "", "", ChatUnknown},
		"group":                          {"agent:main:telegram:group:-100", "telegram", "-100", "", ChatGroup},
		"group in capitals":              {"agent:main:telegram:GROUP:-100", "telegram", "-100", "", ChatGroup},
		"group before channel":           {"agent:main:x:channel:1:group:2", "x", "1", "", ChatGroup},
		"group wins over webchat":        {"agent:main:x:group:2", "webchat", "1", "", ChatGroup},
		"channel":                        {"agent:main:slack:channel:c1", "slack", "c1", "", ChatChannel},
		"channel before direct":          {"agent:main:x:direct:1:channel:2", "x", "1", "", ChatChannel},
		"direct":                         {"agent:main:telegram:direct:1", "telegram", "1", "", ChatDirect},
		"dm":                             {"agent:main:discord:dm:1", "discord", "1", "", ChatDirect},
		"a word that ends in dm":         {"agent:main:discord:adm:1", "discord", "1", "", ChatUnknown},
		"dm at the end":                  {"agent:main:discord:dm", "discord", "1", "", ChatUnknown},
		"main":                           {"agent:main:main", "telegram", "555001", "", ChatDirect},
		"main of another agent":          {"agent:ops:MAIN", "telegram", "555001", "", ChatDirect},
		"main without a channel id":      {"agent:main:main", "telegram", "", "", ChatUnknown},
		"main without a provider":        {"agent:main:main", "", "1", "", ChatUnknown},
		"main with more":                 {"agent:main:main:x", "telegram", "1", "", ChatUnknown},
		"main without an agent":          {"main", "telegram", "1", "", ChatUnknown},
		"a configured main key":          {"agent:main:home", "telegram", "1", "Home", ChatDirect},
		"main beside a configured key":   {"agent:main:main", "telegram", "1", "home", ChatDirect},
		"a main key that is not set":     {"agent:main:home", "telegram", "1", "", ChatUnknown},
		"main in webchat":                {"agent:main:main", "webchat", "agent:main:main", "", ChatDirect},
		"webchat":                        {"agent:main:web1", "webchat", "agent:main:web1", "", ChatDirect},
		"webchat without a key":          {"", "WebChat", "", "", ChatDirect},
		"the gateway's CLI":              {"agent:main:demo", "", "", "", ChatUnknown},
		"the gateway's CLI, main":        {"agent:main:main", "", "", "", ChatUnknown},
		"cron":                           {"agent:main:cron:1:run:2", "", "", "", ChatUnknown},
		"nothing":                        {"", "", "", "", ChatUnknown},
		"an agent and no more":           {"agent:main", "telegram", "1", "", ChatUnknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := payload.Context{SessionKey: c.key, MessageProvider: c.provider, ChannelID: c.channelID}
			require.Equal(t, c.want, chatType(ctx, c.mainKey))
			require.Equal(t, c.want, chatType(payload.Context{SessionKey: c.key, Channel: c.provider, ChannelID: c.channelID}, c.mainKey))
		})
	}
}

func TestChatID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ key, provider, want string }{
		"direct":              {"agent:main:telegram:direct:123", "telegram", "telegram:telegram:direct:123"},
		"group":               {"agent:main:telegram:group:-1001234567890", "telegram", "telegram:telegram:group:-1001234567890"},
		"capitals":            {"agent:main:Slack:Channel:C1", "Slack", "slack:slack:channel:c1"},
		"four parts":          {"agent:main:x:y", "p", "p:x:y"},
		"three parts":         {"agent:main:web1", "webchat", "webchat"},
		"no key":              {"", "webchat", "webchat"},
		"no provider":         {"agent:main:x:y", "", "x:y"},
		"nothing at all":      {"agent:main:main", "", ""},
		"an agent of its own": {"agent:ops:discord:dm:9", "discord", "discord:discord:dm:9"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, chatID(payload.Context{SessionKey: c.key, MessageProvider: c.provider}))
		})
	}
}

// TestCapturedTurns goes through what a real gateway sent.
func TestCapturedTurns(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/openclaw/before_prompt_build.json")
	require.NoError(t, err)
	var samples []struct {
		Scenario   string `json:"scenario"`
		Event, Ctx json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &samples))

	var got []string
	for _, sample := range samples {
		event, err := payload.DecodeBeforePromptBuild(sample.Event)
		require.NoError(t, err)
		ctx, err := payload.DecodeContext(sample.Ctx)
		require.NoError(t, err)
		wide := defaults()
		wide.AllowedChatTypes = []string{ChatDirect, ChatGroup, ChatUnknown}
		got = append(got, fmt.Sprintf("%s: %s %q default=%q wide=%q", sample.Scenario, chatType(ctx, ""), chatID(ctx),
			Check(defaults(), ctx, event.Prompt, true), Check(wide, ctx, event.Prompt, true)))
	}
	require.Equal(t, []string{
		`telegram-group-tool-read: group "telegram:telegram:group:-1001234567890" default="chat_type" wide=""`,
		`webchat-tool-read: direct "webchat" default="" wide=""`,
		`gateway-cli-tool-read: unknown "" default="chat_type" wide=""`,
		`local-embedded: unknown "" default="chat_type" wide=""`,
		`gateway-cli-http-500-retry: unknown "" default="chat_type" wide=""`,
		`webchat-empty-answer: direct "webchat" default="" wide=""`,
		`webchat-subagent: direct "webchat:subagent:539e4f96-07f2-4aa7-a61a-ec935228b2b6" default="internal_session" wide="internal_session"`,
		`webchat-subagent: direct "webchat" default="internal_input" wide="internal_input"`,
		`heartbeat: direct "telegram" default="not_user_trigger" wide="not_user_trigger"`,
		`cron-isolated-job: unknown "cron:3d3101bd-0ef5-492e-95a1-b322ee55ba74:run:cd4a567f-8e02-4ccc-b1b6-da8264647bb2" default="not_user_trigger" wide="not_user_trigger"`,
	}, got)
}

func TestPolicyAndFailure(t *testing.T) {
	t.Parallel()
	policy := []Skip{}
	failure := []Skip{}
	for _, s := range All() {
		if s.Policy() {
			policy = append(policy, s)
		} else {
			failure = append(failure, s)
		}
	}
	require.Equal(t, []Skip{
		"not_user_trigger", "internal_session", "internal_input", "agent_disabled", "not_interactive",
		"chat_type", "chat_id", "empty_prompt", "no_intents", "unchanged", "holdout",
	}, policy)
	require.Equal(t, []Skip{"classify_failed", "low_confidence", "deadline", "overloaded", "late"}, failure)
	require.False(t, None.Policy())
}

func FuzzCheck(f *testing.F) {
	f.Add("user", "agent:main:telegram:direct:123", "s", "telegram", "1", "main", "home")
	f.Add("", ":::", "", "webchat", "", "", "")
	f.Fuzz(func(t *testing.T, trigger, key, id, provider, channelID, agent, mainKey string) {
		ctx := payload.Context{
			Trigger: trigger, SessionKey: key, SessionID: id, MessageProvider: provider, ChannelID: channelID, AgentID: agent,
		}
		chat := chatType(ctx, mainKey)
		// The id of a chat denies exactly that chat.
		rules := Rules{Agents: []string{"*"}, AllowedChatTypes: []string{chat}, MainKey: mainKey}
		if Check(rules, ctx, "x", true) != None {
			return
		}
		rules.DeniedChatIDs = []string{chatID(ctx)}
		if got := Check(rules, ctx, "x", true); got != DeniedChatID {
			t.Fatalf("denied %q, got %q", chatID(ctx), got)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	rules, ctx := defaults(), direct()
	rules.DeniedChatIDs = []string{"telegram:telegram:direct:9"}
	for name, r := range map[string]Rules{"default": defaults(), "with ids": rules} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Check(r, ctx, "could you look that up?", true)
			}
		})
	}
}

func TestServes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules func(*Rules)
		ctx   func(*payload.Context)
		want  bool
		// otherType is a chat that only its type excludes.
		otherType bool
	}{
		"a direct chat":                      {want: true},
		"another agent":                      {rules: func(r *Rules) { r.Agents = []string{"ops"} }},
		"a group":                            {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:telegram:group:-1" }, otherType: true},
		"a denied chat":                      {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:123"} }},
		"a topic of a denied chat":           {rules: func(r *Rules) { r.DeniedChatIDs = []string{"telegram:telegram:direct:123"} }, ctx: func(c *payload.Context) { c.SessionKey += ":topic:4" }},
		"a main session of unknown provider": {ctx: func(c *payload.Context) { *c = payload.Context{SessionKey: "agent:main:main"} }, want: true},
		"a session of a provider that tells no type": {ctx: func(c *payload.Context) { c.SessionKey = "agent:main:x" }, otherType: true},
		"where direct chats are not allowed":         {rules: func(r *Rules) { r.AllowedChatTypes = []string{"group"} }, ctx: func(c *payload.Context) { *c = payload.Context{SessionKey: "agent:main:main"} }, otherType: true},
		"a run without a trigger":                    {ctx: func(c *payload.Context) { c.Trigger = "" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, ctx := defaults(), direct()
			if c.rules != nil {
				c.rules(&rules)
			}
			if c.ctx != nil {
				c.ctx(&ctx)
			}
			require.Equal(t, c.want, rules.Serves(ctx))
			require.Equal(t, c.want || c.otherType, rules.Admits(ctx))
		})
	}
}
