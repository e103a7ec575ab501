package licenses

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTextsNameWhatIsInTheBinary(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, Write(&out))
	for _, want := range []string{"Go go1.", "weights of the sentence encoder", "The intenthint authors", "Apache License", "github.com/nats-io/nats-server/v2 v2.", "modernc.org/sqlite v1."} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "chromedp", "of tests only")
}
