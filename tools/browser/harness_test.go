package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// site is a running `yore web` over logs of its own.
type site struct {
	url  string // with its token
	base string // without it: scheme, host and port
	end  func() // ends the server, as Ctrl-C does: afterwards nobody listens
}

// serve starts the program over some roots, AGENT=DIR each, and ends it with
// the test, by the signal of Ctrl-C.
func serve(t *testing.T, roots ...string) *site {
	t.Helper()
	return serveWith(t, nil, roots...)
}

// serveWith is serve with settings, NAME=VALUE each.
func serveWith(t *testing.T, settings []string, roots ...string) *site {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(program, "web", "--no-open")
	cmd.Env = append(settings[:len(settings):len(settings)],
		"HOME="+dir, "PATH="+os.Getenv("PATH"), "TZ=UTC",
		"YORE_ROOTS="+strings.Join(roots, string(os.PathListSeparator)), "YORE_INDEX="+filepath.Join(dir, "index"),
	)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Once: a second interrupt ends the program on the spot, by the signal.
	end := sync.OnceFunc(func() {
		cmd.Process.Signal(os.Interrupt)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 130) {
				t.Errorf("yore web ended with %v: %s", err, errs.String())
			}
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			t.Error("yore web does not end when it is interrupted")
		}
	})
	t.Cleanup(end)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v: %s", err, errs.String())
	}
	go io.Copy(io.Discard, out)
	url := strings.TrimSpace(line)
	base, _, ok := strings.Cut(url, "/?token=")
	if !ok {
		t.Fatalf("the address is %q", url)
	}
	return &site{url, base, end}
}

// tab is one page of a browser, and what went wrong on it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	problems []string // errors and refusals by the policy that the browser reports
	expected string   // a part of those that a test brings about itself
	dialogs  int
}

// browse opens a browser with nothing of the person's in it.
func browse(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1280, 800), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", false),
		chromedp.Flag("disable-lcd-text", true), chromedp.Flag("lang", "en-GB"),
	)
	alloc, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, closing := chromedp.NewContext(alloc)
	t.Cleanup(closing)
	ctx, ending := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(ending)
	b := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(network.Enable(), log.Enable(), runtime.Enable())
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *log.EventEntryAdded:
		b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError {
			b.problems = append(b.problems, fmt.Sprintf("console: %v", e.Args))
		}
	case *page.EventJavascriptDialogOpening:
		b.dialogs++
		go chromedp.Run(b.ctx, page.HandleJavaScriptDialog(false))
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// goTo opens an address and waits for its scripts.
func (b *tab) goTo(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address), chromedp.WaitReady("body"))
}

// until waits for a condition of the page.
func (b *tab) until(condition string) {
	b.t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// While a page gives way to the next one, there is nothing to ask.
		var held bool
		if err = chromedp.Run(b.ctx, chromedp.Evaluate(condition, &held)); err == nil && held {
			return
		}
	}
	var text string
	chromedp.Run(b.ctx, chromedp.Evaluate(`document.body.innerText.slice(0, 800)`, &text))
	b.t.Fatalf("%s: %v\n%s\n%v", condition, err, text, b.problems)
}

// get evaluates an expression.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// key presses one key on the page, as a keyboard does: what a page takes for
// itself is not typed into a field.
func (b *tab) key(key string) {
	b.t.Helper()
	if len([]rune(key)) > 1 || key < " " || key > "~" {
		b.do(chromedp.KeyEvent(key))
		return
	}
	b.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// indexed waits for the end of the first indexing.
func (b *tab) indexed() {
	b.t.Helper()
	for end := time.Now().Add(100 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var done bool
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(`fetch("/progress").then((r) => r.json()).then((p) => !p.busy)`, &done, awaited)); err == nil && done {
			return
		}
	}
	b.t.Fatal("the first indexing does not end")
}

// fine reports whatever the browser complained about.
func (b *tab) fine() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		if b.expected != "" && strings.Contains(p, b.expected) {
			continue // the browser reports it when it likes: maybe long after the answer
		}
		b.t.Errorf("the browser says: %s", p)
	}
	if b.dialogs > 0 {
		b.t.Errorf("%d dialogs were opened by scripts", b.dialogs)
	}
	b.problems, b.dialogs = nil, 0
}

// dress sets the size of the window and the colours that the person prefers.
func (b *tab) dress(width, height int64, scheme string) {
	b.t.Helper()
	b.do(emulation.SetDeviceMetricsOverride(width, height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}))
}
