//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/knowhub/experience"
)

// elsewhere serves a page of another origin.
func elsewhere(t *testing.T, html string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, html)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAReboundNameReachesNoPage(t *testing.T) {
	memory := new(consoletest.Memory)
	five(memory)
	base := strings.Replace(serve(t, "", memory), "127.0.0.1", "rebound.example", 1)
	ctx := launch(t)
	for _, path := range []string{"/", "/experiences"} {
		do(t, ctx, navigate(base+path), text("body", "not served under this name"), holds(`!document.querySelector("main")`))
	}
}

func TestAPageElsewhereDecidesNothing(t *testing.T) {
	memory := new(consoletest.Memory)
	ids := five(memory)
	base := serve(t, "", memory)
	do(
		t, launch(t),
		navigate(elsewhere(t, `<form method="post" action="`+base+`/experiences"><input name="approve" value="`+ids[0]+`"></form><script>document.forms[0].submit()</script>`)),
		text("body", "a page of another origin"),
	)
	require.Equal(t, experience.Pending, memory.Status(ids[0]))
}

func TestAPageElsewhereFramesNoPage(t *testing.T) {
	memory := new(consoletest.Memory)
	five(memory)
	own := elsewhere(t, "a page that may be framed")
	for _, row := range []struct{ name, address, want string }{
		{"a page of the console", serve(t, "", memory) + "/experiences", "chrome-error://chromewebdata/"},
		{"a page that allows it", own + "/", own + "/"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx := launch(t)
			do(t, ctx, navigate(elsewhere(t, `<iframe src="`+row.address+`" onload="document.title = 'over'"></iframe>`)), holds(`document.title === "over"`))
			tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
			require.NoError(t, err)
			require.Len(t, tree.FrameTree.ChildFrames, 1)
			require.Equal(t, row.want, tree.FrameTree.ChildFrames[0].Frame.URL)
		})
	}
}

func TestAPageElsewhereReadsNoPage(t *testing.T) {
	memory := new(consoletest.Memory)
	five(memory)
	do(
		t, launch(t),
		navigate(elsewhere(t, `<script>fetch("`+serve(t, "", memory)+`/experiences").then((r) => r.text()).then(() => { document.title = "read" }, () => { document.title = "refused" })</script>`)),
		holds(`document.title === "refused"`),
	)
}
