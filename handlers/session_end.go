package handlers

import (
	"cmp"

	"intenthint/payload"
	"intenthint/store"
)

// sessionEnd ends a session, which may go on under the same id after /new or a
// reset. The context names the session, else the event does.
func sessionEnd(_ Decoder, env payload.Envelope, _ payload.Context, f *store.Fact) error {
	e, err := payload.DecodeSessionEnd(env.Event)
	if err != nil {
		return err
	}
	f.SessionID = cmp.Or(f.SessionID, e.SessionID)
	f.SessionKey = cmp.Or(f.SessionKey, e.SessionKey)
	f.Close = &store.Close{Reason: e.Reason}
	return nil
}
