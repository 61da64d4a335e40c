package browser

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPictures shows the pages of the documentation over three agents' logs; with
// -pictures it writes them to docs/images.
func TestPictures(t *testing.T) {
	s := serve(t, story(t)...)
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	for _, scheme := range []string{"light", "dark"} {
		b.dress(1280, 820, scheme)
		for _, v := range []visit{
			{"overview", "/", func(b *tab) {
				b.until(`document.querySelectorAll(".legend li").length === 3 && document.querySelectorAll(".recent li").length === 8`)
			}},
			{"search", "/search?q=token+bucket", func(b *tab) { b.until(`document.querySelectorAll(".hit mark").length > 3`) }},
			{"session", "/s/dsh/atlas-limiter/10", func(b *tab) { b.until(loaded + ` && !!document.querySelector("#panel .relations")`) }},
			{"lineage", "/s/dsh/atlas-limiter/lineage", func(b *tab) { b.until(`document.querySelectorAll(".node").length === 7`) }},
		} {
			b.goTo(s.base + v.path)
			v.then(b)
			if !*pictures {
				continue
			}
			var png []byte
			b.do(chromedp.Sleep(300*time.Millisecond), chromedp.CaptureScreenshot(&png))
			if len(png) > 200<<10 {
				t.Errorf("%s is %d bytes", v.name, len(png))
			}
			if err := os.MkdirAll("../../docs/images", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join("../../docs/images", "web-"+v.name+"-"+scheme+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.home(s)
}
