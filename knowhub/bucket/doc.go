// Package bucket keeps what the KnowHub of all consumer processes share (contract
// §12), in two JetStream key-value buckets:
//
//	<STREAM>_EXPERIENCES    <id>         an [experience.Experience]: the truth about it
//	<STREAM>_KNOWHUB_TURNS  <session>    the turns of a session, kept for a time
//
// Every change is compare-and-set. A bucket that is missing is created by the next
// call. While it or the server is away, calls fail at once or when their context
// ends.
package bucket
