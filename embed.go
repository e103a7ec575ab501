// Package intenthint holds the files at the top of the repository that are
// built into the binary.
package intenthint

import _ "embed"

// NATSConf is the configuration of the embedded NATS server that is used if
// there is no file (contract §9, HINT_NATS_CONF).
//
//go:embed nats.conf
var NATSConf string
