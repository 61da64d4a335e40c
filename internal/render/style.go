package render

import (
	"crypto/sha256"
	"encoding/base64"
)

// styleHash names a style in a content security policy, which then allows that
// one and no other.
func styleHash(css string) string {
	sum := sha256.Sum256([]byte(css))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// transcriptStyle is the look of a transcript's page, in light and dark.
const transcriptStyle = `
:root { color-scheme: light dark; --back: #fdfdfb; --ink: #1d2126; --dim: #667; --line: #ddd; --card: #fff; --user: #1f5fa8; --assistant: #26734d; --tool: #8a5a00; --context: #6b4a9c; --shadow: #a33; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --ink: #dfe3e8; --dim: #98a0aa; --line: #333840; --card: #1d2025; --user: #7db3f0; --assistant: #7fd1a5; --tool: #e0b060; --context: #b99be6; --shadow: #f08a8a; }
}
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0 0 1rem; color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
label { margin-right: 1rem; }
article { margin: .75rem 0; padding: .25rem .75rem; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--dim); border-radius: 4px; }
article:target { outline: 2px solid var(--user); }
h2 { font-size: .95rem; margin: .25rem 0; overflow-wrap: anywhere; }
h2 a { color: inherit; text-decoration: none; }
h2 span, h2 time { font-weight: normal; color: var(--dim); }
pre { margin: .25rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
p { color: var(--dim); }
.first-prompt, .user { border-left-color: var(--user); }
.assistant { border-left-color: var(--assistant); }
.tool-call, .tool-result { border-left-color: var(--tool); }
.context { border-left-color: var(--context); }
article.shadowed { opacity: .65; border-style: dashed; }
article.shadowed .state { color: var(--shadow); }
article.log-only { border-left-style: dotted; }
#show-current:not(:checked) ~ main .current, #show-shadowed:not(:checked) ~ main .shadowed, #show-log-only:not(:checked) ~ main .log-only { display: none; }
`
