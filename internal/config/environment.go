package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// variableConfig names the variable that names the file.
const variableConfig = "HINT_CONFIG"

// environment is what envconfig reads. The fields are text: envconfig stops
// at the first value it cannot convert, and an operator should see all of
// them. The names are written out with their prefix, because envconfig would
// otherwise also take MODEL for HINT_MODEL.
type environment struct {
	NATSURL           string `envconfig:"HINT_NATS_URL"`
	NATSCreds         string `envconfig:"HINT_NATS_CREDS"`
	NATSNKey          string `envconfig:"HINT_NATS_NKEY"`
	NATSCA            string `envconfig:"HINT_NATS_CA"`
	NATSCert          string `envconfig:"HINT_NATS_CERT"`
	NATSKey           string `envconfig:"HINT_NATS_KEY"`
	NATSInboxPrefix   string `envconfig:"HINT_NATS_INBOX_PREFIX"`
	NATSConf          string `envconfig:"HINT_NATS_CONF"`
	NATSPort          string `envconfig:"HINT_NATS_PORT"`
	AllowOpen         string `envconfig:"HINT_ALLOW_OPEN"`
	DataDir           string `envconfig:"HINT_DATA_DIR"`
	SubjectPrefix     string `envconfig:"HINT_SUBJECT_PREFIX"`
	QueueGroup        string `envconfig:"HINT_QUEUE_GROUP"`
	Stream            string `envconfig:"HINT_STREAM"`
	StreamMaxAge      string `envconfig:"HINT_STREAM_MAX_AGE"`
	StreamMaxBytes    string `envconfig:"HINT_STREAM_MAX_BYTES"`
	StreamReplicas    string `envconfig:"HINT_STREAM_REPLICAS"`
	Store             string `envconfig:"HINT_STORE"`
	SessionsDir       string `envconfig:"HINT_SESSIONS_DIR"`
	SessionRetention  string `envconfig:"HINT_SESSION_RETENTION"`
	HistoryLimit      string `envconfig:"HINT_HISTORY_LIMIT"`
	HTTPAddr          string `envconfig:"HINT_HTTP_ADDR"`
	LogFormat         string `envconfig:"HINT_LOG_FORMAT"`
	LogLevel          string `envconfig:"HINT_LOG_LEVEL"`
	Config            string `envconfig:"HINT_CONFIG"`
	Classifier        string `envconfig:"HINT_CLASSIFIER"`
	LocalAccept       string `envconfig:"HINT_LOCAL_ACCEPT"`
	MinConfidence     string `envconfig:"HINT_MIN_CONFIDENCE"`
	Model             string `envconfig:"HINT_MODEL"`
	ModelFallback     string `envconfig:"HINT_MODEL_FALLBACK"`
	EmbeddingModel    string `envconfig:"HINT_EMBEDDING_MODEL"`
	Providers         string `envconfig:"HINT_PROVIDERS"`
	TimeoutMs         string `envconfig:"HINT_TIMEOUT_MS"`
	MaxInflight       string `envconfig:"HINT_MAX_INFLIGHT"`
	Agents            string `envconfig:"HINT_AGENTS"`
	IntentDeny        string `envconfig:"HINT_INTENT_DENY"`
	AllowedChatTypes  string `envconfig:"HINT_ALLOWED_CHAT_TYPES"`
	AllowedChatIDs    string `envconfig:"HINT_ALLOWED_CHAT_IDS"`
	DeniedChatIDs     string `envconfig:"HINT_DENIED_CHAT_IDS"`
	QueryMode         string `envconfig:"HINT_QUERY_MODE"`
	ContextWindow     string `envconfig:"HINT_CONTEXT_WINDOW"`
	IntentsDir        string `envconfig:"HINT_INTENTS_DIR"`
	ComplexityPrompts string `envconfig:"HINT_COMPLEXITY_PROMPTS"`
	UserTimezone      string `envconfig:"HINT_USER_TIMEZONE"`
	HookTimeouts      string `envconfig:"HINT_HOOK_TIMEOUTS"`
	Triage            string `envconfig:"HINT_TRIAGE"`
	KnowHub           string `envconfig:"HINT_KNOWHUB"`
}

// readEnvironment returns the values that are set, by variable, without white
// space around them; an empty value is as good as none.
func readEnvironment() (map[string]string, error) {
	var env environment
	if err := envconfig.Process("", &env); err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	values := make(map[string]string)
	fields := reflect.ValueOf(env)
	for i := range fields.NumField() {
		if text := strings.TrimSpace(fields.Field(i).String()); text != "" {
			values[fields.Type().Field(i).Tag.Get("envconfig")] = text
		}
	}
	return values, nil
}

// unknownVariables warns of variables that have our prefix and no meaning,
// with the name that was probably meant.
func unknownVariables(environ []string) []Warning {
	names := make([]string, 0, len(variables)+1)
	for _, v := range Variables() {
		names = append(names, v.Name)
	}
	var warnings []Warning
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "HINT_") || slices.Contains(names, name) {
			continue
		}
		message := "no such variable"
		if near := nearest(name, names); near != "" {
			message += "; did you mean " + near + "?"
		}
		warnings = append(warnings, Warning{Variable: name, Message: message})
	}
	slices.SortFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Variable, b.Variable) })
	return warnings
}

// nearest returns the name that takes the fewest edits to become, else one of
// which name is the beginning, else "".
func nearest(name string, names []string) string {
	best, bestDistance := "", max(2, (len(name)-len("HINT_"))/3)+1
	for _, candidate := range names {
		if d := editDistance(name, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"_") }); best == "" && i >= 0 {
		return names[i]
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours between two ASCII strings.
func editDistance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, above, row := rows[0], rows[1], rows[2]
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
