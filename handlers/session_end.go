package handlers

import (
	"intenthint/payload"
	"intenthint/store"
)

// sessionEnd ends a session, which may go on under the same id after /new or a
// reset. The context names the session; the event stands in for
// it.
func sessionEnd(env payload.Envelope, _ payload.Context, f *store.Fact) error {
	e, err := payload.DecodeSessionEnd(env.Event)
	if err != nil {
		return err
	}
	if f.SessionID == "" {
		f.SessionID = e.SessionID
	}
	if f.SessionKey == "" {
		f.SessionKey = e.SessionKey
	}
	f.Close = &store.Close{Reason: e.Reason}
	return nil
}
