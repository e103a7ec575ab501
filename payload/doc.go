// Package payload decodes and encodes message bodies: the envelope and the
// events and contexts of the hooks this program handles (contract §3). Its
// errors wrap [ErrInvalid].
package payload
