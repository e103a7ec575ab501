package knowhub

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/internal/httpserver"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/extract"
	"intenthint/knowhub/safety"
	"intenthint/model"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
)

// name is that of the part, and of its sink in metrics and logs.
const name = "knowhub"

// experiencesFile is the table of experiences in the data directory.
const experiencesFile = "knowhub.db"

// extractions is how many extractions a process asks models for at once. They
// take long, and most are not waited for.
const extractions = 4

// Part returns KnowHub as a part of the program. page makes the page on which people
// review experiences.
func Part(page func(*Service) http.Handler) part.Part {
	var metrics *Metrics
	return part.Part{
		Name: name, Title: "KnowHub", Settings: Declared, Needs: needs,
		Pages: []part.Page{{
			Path: "/experiences", Name: "Experiences",
			Off: "KnowHub is not running in this process. HINT_KNOWHUB='{\"enabled\": true}' turns it on.",
		}},
		Metrics: func(r prometheus.Registerer) { metrics = NewMetrics(r) },
		Open: func(ctx context.Context, env part.Env) (*part.Running, error) {
			return open(ctx, env, metrics, page)
		},
		Off: func(ctx context.Context, l bus.Layout, js jetstream.JetStream) error {
			return bucket.SwitchOffIn(ctx, js, bucket.TurnsIn(l))
		},
		Trials: trials,
	}
}

// Make returns the settings of a program.
func Make(p part.Program) (*Settings, error) {
	s := *Declared.In(p.Values)
	s.Model = cmp.Or(s.Model, p.Model)
	s.Limit, s.RepeatAfter, s.Serves, s.Admits = model.NewLimit(extractions), p.RepeatAfter, p.Serves, p.Admits
	if s.Model == "" {
		return &s, nil
	}
	asked, err := p.Asked(s.Model)
	s.Chain, s.Gate = asked.Chain, asked.Decider
	if err == nil && s.Gate != nil && p.PromptModel != "" {
		s.Chain, err = p.Chain(p.PromptModel)
	}
	return &s, err
}

func needs(l bus.Layout, p part.Program) part.Needs {
	n := part.Needs{Buckets: []bus.Bucket{{Config: bucket.ExperiencesIn(l), Kept: true, Followed: true}, {Config: bucket.TurnsIn(l)}}}
	if s := Declared.In(p.Values); s.Extract {
		d := Durable(l, s.Trigger)
		d.FromNow = true // see switched
		n.Durables = []bus.Durable{d}
	}
	return n
}

// Durable is the durable of the events from which experiences are extracted, those
// of one hook.
func Durable(l bus.Layout, hook string) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-knowhub",
		Hooks:       []string{hook},
		Description: "Messages of ended runs, from which intenthint extracts experiences",
	}
}

// open makes the service, and begins to follow the bucket. It does not delay requests:
// a verb that is not ready yet fails.
func open(ctx context.Context, env part.Env, metrics *Metrics, page func(*Service) http.Handler) (*part.Running, error) {
	// The index and the extraction use the connection of events, so that a long
	// catch-up does not delay requests.
	path, log := filepath.Join(env.DataDir, experiencesFile), env.Log
	kept, turns := bucket.ExperiencesOf(env.Layout, env.Requests.JS), bucket.TurnsOf(env.Layout, env.Requests.JS)
	follower := NewCopy(CopyOptions{
		Bucket: bucket.ExperiencesOf(env.Layout, env.Events.JS), Path: path, Encoder: env.Encoder, Metrics: metrics, Log: log,
	})
	service := New(Options{Experiences: kept, Copy: follower, Marks: safety.Marks, Metrics: metrics, Log: log})
	extraction := extractionOf(env, service)
	use := func(p part.Program) (swap func(), err error) {
		s, err := Make(p)
		return func() { service.Use(s); extraction.changed() }, err
	}
	swap, err := use(env.Program)
	if err != nil {
		return nil, err
	}
	swap()
	for _, open := range []func(context.Context) error{kept.Open, turns.Open} {
		if err := env.Retry(ctx, open); err != nil {
			log.Warn("bucket unavailable, will retry", "error", err)
		}
	}
	recall := &Recall{Service: service, Turns: turns, Resets: env.LastReset}
	reminder := &Reminder{Turns: turns, Resets: env.LastReset, Settings: service.Settings, Metrics: metrics}
	running := &part.Running{
		Use: use, Endpoints: service.Endpoints(env.Layout.Prefix), Longest: ExtractTime,
		Hooks: []part.Hook{{Hook: recall.Hook()}, {Hook: hook.Hook{
			Name: subjects.HookBeforePromptBuild, Handlers: []hook.Handler{recall.Handler(), reminder.Handler()},
		}}},
		Checks: []part.Step{{Name: "knowhub index", Do: follower.Check}},
		Stop:   []part.Step{{Name: "knowhub index", Do: follow(ctx, follower)}},
		Listen: func(ctx context.Context) (func(context.Context) error, error) {
			return listen(ctx, service, env, log)
		},
		Detail: func() string { return "experiences to review" },
		Sinks:  []part.Sink{extraction.start},
	}
	if page != nil {
		running.Pages = map[string]http.Handler{"/experiences": page(service)}
	}
	return running, nil
}

// follow keeps the copy up to date until the returned function is called: accepted
// requests are answered until then, beyond the end of background work.
func follow(ctx context.Context, c *Copy) (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	return func(ctx context.Context) error {
		cancel()
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("background work still running: %w", ctx.Err())
		}
	}
}

// extractionOf extracts experiences from the events of a hook while the settings say so.
func extractionOf(env part.Env, service *Service) *switched {
	turns, trigger := bucket.TurnsOf(env.Layout, env.Events.JS), Declared.In(env.Values).Trigger
	durable := Durable(env.Layout, trigger)
	sink := &Sink{Service: service, Extracted: turns}
	return &switched{
		service: service, turns: turns, durable: durable, log: env.Log, changes: make(chan struct{}, 1),
		take: func(since time.Time) part.Sink {
			return part.Take(events.SinkOptions[Fact]{
				Name: name, Durable: durable.Name, Handler: HandlerOf(sink, trigger, since),
				// One at a time: nothing waits for them, and hints take precedence at the
				// models.
				Appliers: 1, Pause: extractPause,
			})
		},
	}
}

// HandlerOf extracts experiences from the events of a hook that were stored after since.
func HandlerOf(s *Sink, trigger string, since time.Time) events.Handler[Fact] {
	return events.Handler[Fact]{
		Decode: func(named, msgID string, data []byte) (events.Event[Fact], error) {
			session, hook, fact, err := DecodeFact(trigger, named, msgID, data)
			return events.Event[Fact]{Session: session, Hook: hook, Fact: fact}, err
		},
		Stored: func(f Fact, at time.Time) (Fact, bool) { return f.Since(since, at) },
		Apply:  s.Apply,
		Check:  s.Check,
	}
}

// extractPause returns the backoff before extraction from an event is retried
// when no model answered, given its tries so far: 5 s, 40 s, 5 min and 43 min;
// then the event becomes a dead letter. A single failed call is retried
// soon, and most provider outages last less than an hour.
func extractPause(tries uint64) time.Duration {
	return 5 * time.Second << (3 * (min(max(tries, 1), 4) - 1))
}

// listen serves the HTTP API.
func listen(ctx context.Context, service *Service, env part.Env, log *slog.Logger) (stop func(context.Context) error, err error) {
	s := service.Settings()
	server, err := httpserver.Listen(ctx, httpserver.Options{Addr: s.Listen, Log: log})
	if err != nil {
		return nil, fmt.Errorf("HINT_KNOWHUB: %w", err)
	}
	server.Handle("/", NewAPI(APIOptions{Service: service, Listen: s.Listen, Token: cmp.Or(s.Token, env.Token), Guesses: env.Guesses, Log: log}))
	server.Serve()
	log.Info("serving the API of experiences", "address", server.Addr())
	return server.Shutdown, nil
}

// trials asks the model of extraction for the experiences in a short conversation.
func trials(p part.Program) []part.Trial {
	own := Declared.In(p.Values)
	if own.Model == "" {
		return nil
	}
	return []part.Trial{{
		Setting: "model of HINT_KNOWHUB", Ref: own.Model,
		Ask: func(ctx context.Context, asked part.Asked) (string, error) {
			request, _ := extract.Question([]payload.Message{
				{Role: payload.RoleUser, Content: payload.ContentOf("The build of the shop fails since the upgrade.")},
				{Role: payload.RoleAssistant, Content: payload.ContentOf("The module cache was damaged. After `go clean -modcache` the build passes.")},
			}, extract.Options{})
			if asked.Decider != nil {
				answer, err := asked.Decider.Ask(ctx, request.User, worth)
				return fmt.Sprintf("%.2f that there is an experience", answer.Value), err
			}
			answer, err := model.Ask(ctx, asked.Chain, model.Question[[]extract.Candidate]{Request: request, Parse: extract.Parse})
			n := fmt.Sprintf("%d experiences", len(answer.Value))
			if len(answer.Value) == 1 {
				n = "1 experience"
			}
			return n, err
		},
	}}
}
