// Package provider asks language and embedding models over HTTP: one request, one
// answer, within the caller's deadline, without retries. It knows two wire formats
// and the built-in providers (contract §9, HINT_PROVIDERS).
package provider
