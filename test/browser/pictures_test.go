//go:build browser

package browser

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// maxPicture bounds a picture in the repository, in bytes.
const maxPicture = 150 << 10

// TestPicturesOfTheDemo takes the README's pictures of a system with a day of traffic,
// `consumer demo`. They go where PICTURES says, else beside the other screenshots.
func TestPicturesOfTheDemo(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		dir = screenshots(t)
	}
	link := demo(t)
	ctx := launch(t)
	look(t, ctx, 1280, 860, false, "light")
	base, _, _ := strings.Cut(link, "/sign-in")
	do(t, ctx, navigate(link), holds(`document.querySelectorAll(".feed .turn").length > 10 && document.querySelectorAll(".plot").length === 5`))
	for _, shot := range []struct {
		name, path string
		do         []step
	}{
		{"overview", "/", []step{text("#live", "live")}},
		{"turns", "/turns", []step{press("jjj"), holds(`document.activeElement.querySelector(".panel")?.offsetHeight > 60`)}},
	} {
		do(t, ctx, navigate(base+shot.path), holds(latin))
		do(t, ctx, shot.do...)
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		picture = indexed(t, picture)
		require.LessOrEqual(t, len(picture), maxPicture, shot.name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, shot.name+".png"), picture, 0o644)) //nolint:gosec // for everybody
	}
}

// latin removes rows in other scripts, for which the machine may have no font.
const latin = `([...document.querySelectorAll(".turn")].filter((row) => /[^\u0000-\u2fff]/.test(row.textContent)).forEach((row) => row.remove()), true)`

// indexed returns a picture with its 256 most frequent colours, a third of the size.
func indexed(t *testing.T, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	counts := map[color.RGBA]int{}
	for y := range from.Bounds().Dy() {
		for x := range from.Bounds().Dx() {
			counts[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++ //nolint:forcetypeassert // by the model
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var colours color.Palette
	for _, c := range all[:min(256, len(all))] {
		colours = append(colours, c)
	}
	to := image.NewPaletted(from.Bounds(), colours)
	draw.Draw(to, to.Bounds(), from, image.Point{}, draw.Src)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to))
	return out.Bytes()
}

// demo starts `consumer demo`, and returns the link that signs in.
func demo(t *testing.T) (link string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, build(t), "demo")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = patience
	command.Env = append(os.Environ(), "HINT_HTTP_ADDR=", "HINT_USER_TIMEZONE=UTC")
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { cancel(); _ = command.Wait() })
	link, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(link)
}
