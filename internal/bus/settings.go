package bus

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// setting is a field of a configuration that is compared.
type setting struct {
	// field is the name in the struct of the client. The json tag is the name
	// in the NATS API.
	field string
	// none is the text for a value that means no limit; "" if there is no such
	// value.
	none string
	// bytes: the value is a number of bytes.
	bytes bool
	// The following are those of [Difference].
	effect             string
	recreate, unusable bool
}

// storeSettings are the settings that streams and buckets share.
var storeSettings = []setting{
	{field: "Storage", recreate: true, effect: "its contents are lost when the server restarts"},
	{field: "Replicas"},
	{field: "MaxAge", none: "unlimited"},
	{field: "MaxBytes", none: "unlimited", bytes: true},
	{field: "AllowAtomicPublish"},
}

var streamSettings = slices.Concat(storeSettings, []setting{
	{field: "Retention", effect: "acknowledged messages are deleted, and session documents cannot be rebuilt"},
	{field: "Discard", effect: "when the stream is full, new messages are refused"},
	{field: "Duplicates"},
	{field: "MaxMsgsPerSubject", none: "unlimited", effect: "older events of a session are deleted, possibly before they are applied"},
	{field: "MaxMsgSize", none: "unlimited", bytes: true, effect: "larger events are refused"},
	{field: "NoAck", unusable: true, effect: "stored messages are not acknowledged"},
	{field: "Sealed", recreate: true, unusable: true, effect: "it accepts no messages"},
	{field: "AllowDirect"},
})

var durableSettings = []setting{
	{field: "MaxRequestBatch", none: "none", unusable: true, effect: "pull requests for " + strconv.Itoa(PullMessages) + " are refused"},
	{field: "MaxRequestMaxBytes", none: "none", bytes: true, unusable: true}, // its effect depends on the server
	{field: "MaxRequestExpires", none: "none", unusable: true, effect: "pull requests for " + PullExpiry.String() + " are refused"},
	{field: "PauseUntil", none: "none", effect: "no events are applied before that time"},
	{field: "AckPolicy", recreate: true, unusable: true, effect: "events are acknowledged before they are applied"},
	{field: "HeadersOnly", unusable: true, effect: "events come without their bodies"},
	{field: "FilterSubjects", none: "none", effect: "the other events are never applied"},
	{field: "MaxDeliver", none: "unlimited", effect: "events are lost after that many failed deliveries, for example on a full disk"},
	{field: "BackOff", none: "none"},
	{field: "AckWait"},
	{field: "MaxAckPending"},
	{
		field: "InactiveThreshold", none: "none",
		effect: "it is deleted after that time without a running process, and all events are then redelivered",
	},
}

func (s setting) text(value reflect.Value) string {
	switch v := value.Interface().(type) {
	case jetstream.StorageType:
		return strings.ToLower(v.String())
	case []string:
		if len(v) > 0 {
			return strings.Join(v, ", ")
		}
	case *time.Time:
		if v != nil {
			return v.UTC().Format(time.RFC3339)
		}
	}
	switch {
	case s.none != "" && (value.IsZero() || value.CanInt() && value.Int() < 0):
		return s.none
	case s.bytes:
		return size(value.Int())
	default:
		return fmt.Sprint(value)
	}
}

// compare returns the settings in which two configurations differ.
func compare[C any](settings []setting, have, want C) []Difference {
	out := []Difference{}
	for _, s := range settings {
		from, to := s.text(reflect.ValueOf(have).FieldByName(s.field)), s.text(reflect.ValueOf(want).FieldByName(s.field))
		if from != to {
			out = append(out, Difference{Field: apiName[C](s), From: from, To: to, Recreate: s.recreate, Effect: s.effect, unusable: s.unusable})
		}
	}
	return out
}

// adopt returns have with the differing fields of want.
func adopt[C any](settings []setting, have, want C, differences []Difference) C {
	for _, s := range settings {
		if slices.ContainsFunc(differences, func(d Difference) bool { return d.Field == apiName[C](s) }) {
			reflect.ValueOf(&have).Elem().FieldByName(s.field).Set(reflect.ValueOf(want).FieldByName(s.field))
		}
	}
	return have
}

// apiName returns the name of a field of C in the NATS API.
func apiName[C any](s setting) string {
	f, _ := reflect.TypeFor[C]().FieldByName(s.field)
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// differences compares a stream with the wanted configuration.
func (r streamResource) differences(have jetstream.StreamConfig, state jetstream.StreamState, now time.Time) []Difference {
	want := r.want
	have.Replicas, want.Replicas = max(have.Replicas, 1), max(want.Replicas, 1)
	want.AllowAtomicPublish = have.AllowAtomicPublish || want.AllowAtomicPublish && have.Mirror == nil
	out := compare(r.settings, have, want)
	for i := range out {
		switch d := &out[i]; d.Field {
		case "max_age":
			if state.Msgs > 0 && want.MaxAge > 0 && state.FirstTime.Before(now.Add(-want.MaxAge)) {
				d.Loss = "the oldest message is from " + state.FirstTime.UTC().Format(time.RFC3339)
			}
		case "max_bytes":
			if want.MaxBytes > 0 && state.Bytes > uint64(want.MaxBytes) {
				d.Loss = "it holds " + size(int64(state.Bytes))
			}
		case "retention":
			d.Recreate = have.Retention == jetstream.WorkQueuePolicy
		}
	}
	// A mirror or a stream with sources gets its messages from there.
	if len(r.want.Subjects) > 0 && have.Mirror == nil && len(have.Sources) == 0 {
		out = append(subjectDifference(have.Subjects, r.want.Subjects[0], r.prefix), out...)
	}
	return append(out, systemDifference(systemOf(have.Metadata), systemOf(want.Metadata), state)...)
}

// systemDifference compares the identities in the metadata. Only a missing place is
// a difference: whoever keeps sessions elsewhere is refused at the start.
func systemDifference(have, want System, state jetstream.StreamState) []Difference {
	d := Difference{Field: metadataField, From: storeSetting + have.Store, To: storeSetting + want.Store}
	switch {
	case want.ID == "":
		return nil
	case have.ID == "":
		d.From = "no system"
	case have.Store != want.Store:
		if state.Msgs > 0 {
			d.Loss = "sessions of the other store are left behind; `consumer sessions rebuild` makes those again whose events the stream still has"
		}
	case have.Place == "" && want.Place != "":
		d.From, d.To = "no sessions directory", "sessions in "+want.Place
	default:
		return nil
	}
	return []Difference{d}
}

// ChangesStore reports whether the plan puts another kind of session store into the
// stream's metadata.
func (t Target) ChangesStore() bool {
	return slices.ContainsFunc(t.Differences, func(d Difference) bool {
		return d.Field == metadataField && strings.HasPrefix(d.From, storeSetting)
	})
}

const storeSetting = "HINT_STORE="

// metadataField is the name of a stream's metadata in the NATS API.
const metadataField = "metadata"

// changed returns have without the differences.
func (r streamResource) changed(have jetstream.StreamConfig, differences []Difference) jetstream.StreamConfig {
	out := adopt(r.settings, have, r.want, differences)
	for _, d := range differences {
		switch d.Field {
		case "subjects":
			out.Subjects = d.subjects
		case metadataField:
			out.Metadata = maps.Clone(out.Metadata)
			if out.Metadata == nil {
				out.Metadata = map[string]string{}
			}
			now, then := systemOf(have.Metadata), systemOf(r.want.Metadata)
			then.ID = cmp.Or(now.ID, then.ID) // a directory that was used before has it
			maps.Copy(out.Metadata, then.metadata())
		case "max_age":
			if out.MaxAge > 0 {
				out.Duplicates = min(out.Duplicates, out.MaxAge)
			}
		case "discard":
			out.DiscardNewPerSubject = false
		}
	}
	return out
}

// subjectDifference compares the captured subjects: a stream must capture the
// wanted subject and no requests.
func subjectDifference(have []string, want string, prefix subjects.Prefix) []Difference {
	covered, some, requests := false, false, false
	next := []string{want}
	var lost []string
	for _, s := range have {
		stored, asked := server.SubjectsCollide(s, want), server.SubjectsCollide(s, prefix.Requests())
		covered = covered || server.SubjectMatchesFilter(want, s)
		some = some || stored
		requests = requests || asked
		switch {
		case !stored && !asked:
			next = append(next, s)
		case !server.SubjectMatchesFilter(s, want):
			lost = append(lost, s)
		}
	}
	d := Difference{Field: "subjects", From: cmp.Or(strings.Join(have, ", "), "none"), To: strings.Join(next, ", "), subjects: next}
	switch {
	case requests:
		d.Effect, d.unusable = "requests would be answered by the stream instead of a consumer", true
	case covered:
		return nil
	case !some:
		d.Effect, d.unusable = "no messages of "+want+" are stored", true
	default:
		d.Effect = "only part of " + want + " is stored"
	}
	if len(lost) > 0 {
		d.Loss = "other messages of " + strings.Join(lost, ", ") + " are no longer captured"
	}
	return []Difference{d}
}

// differences compares a durable with the wanted configuration. bytes is the
// byte limit of a pull request.
func (r durableResource) differences(have jetstream.ConsumerConfig, bytes int, now time.Time) []Difference {
	// Limits that no pull exceeds, a pause that is over and wider filters are no
	// differences.
	if have.MaxRequestBatch >= PullMessages {
		have.MaxRequestBatch = 0
	}
	if have.MaxRequestMaxBytes >= bytes {
		have.MaxRequestMaxBytes = 0
	}
	if have.MaxRequestExpires >= PullExpiry {
		have.MaxRequestExpires = 0
	}
	if have.PauseUntil != nil && !have.PauseUntil.After(now) {
		have.PauseUntil = nil
	}
	if have.FilterSubject != "" {
		have.FilterSubjects = []string{have.FilterSubject}
	}
	if r.letThrough(have.FilterSubjects) {
		have.FilterSubjects = r.want.FilterSubjects
	}
	if len(have.BackOff) > 0 { // it overrides AckWait
		have.AckWait = r.want.AckWait
	}
	out := compare(durableSettings, have, r.want)
	for i, d := range out {
		switch {
		case d.Field == "max_bytes":
			out[i].Effect = "pull requests for " + size(int64(bytes)) + " are refused"
		case d.Field == "max_ack_pending" && have.MaxAckPending > 0 && have.MaxAckPending < PullMessages:
			out[i].Effect = "all processes together hold at most " + strconv.Itoa(have.MaxAckPending) + " events at a time, which is slow"
		}
	}
	return out
}

// changed returns have without the differences.
func (r durableResource) changed(have jetstream.ConsumerConfig, differences []Difference) jetstream.ConsumerConfig {
	out := adopt(durableSettings, have, r.want, differences)
	for _, d := range differences {
		switch d.Field {
		case "filter_subjects":
			out.FilterSubject = ""
		case "backoff":
			out.AckWait = r.want.AckWait
		}
	}
	return out
}

// letThrough reports whether filters match all wanted subjects. An empty filter
// list matches everything.
func (r durableResource) letThrough(filters []string) bool {
	wanted := r.want.FilterSubjects
	if len(wanted) == 0 {
		wanted = []string{r.prefix.Events()}
	}
	for _, subject := range wanted {
		if !slices.ContainsFunc(filters, func(f string) bool { return server.SubjectMatchesFilter(subject, f) }) {
			return len(filters) == 0
		}
	}
	return true
}

// size formats bytes in the largest unit that is exact.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n > 0 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + " " + units[i]
}
