// Package kv is what the users of JetStream key-value buckets have in common: how a
// bucket is found or created, which errors mean what, how a key is changed beside
// other writers, and how a bucket is followed through lost connections.
package kv
