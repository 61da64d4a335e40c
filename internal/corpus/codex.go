package corpus

import (
	"strconv"
	"strings"
)

// Codex returns the rollout of one Codex session of about size bytes: turns of
// response items with encrypted reasoning, events that show everything a second
// time, counts of tokens, settings repeated with each turn. About a sixth of the
// bytes is searchable text. Same seed and size, same bytes.
func Codex(seed uint64, size int) Transcript {
	c := &codex{transcriber: newTranscriber(seed, 3000), cwd: "/home/dev/work/project-00"}
	c.session = uuid(c.r)
	begun := c.at.Format("2006-01-02T15-04-05")
	c.meta()
	for len(c.out) < size {
		c.turn()
	}
	return Transcript{
		ID: c.session, Cwd: c.cwd,
		Path: "sessions/2026/02/01/rollout-" + begun + "-" + c.session + ".jsonl", Text: c.out,
	}
}

type codex struct {
	*transcriber
	session, cwd string
	turns        int
}

// record adds a line.
func (c *codex) record(typ, payload string) {
	c.add(`{"timestamp":%q,"type":%q,"payload":%s}`+"\n", c.now(), typ, payload)
}

func (c *codex) item(payload string)  { c.record("response_item", payload) }
func (c *codex) event(payload string) { c.record("event_msg", payload) }

// meta states the session's facts, with the whole of the instructions.
func (c *codex) meta() {
	c.b = c.b[:0]
	c.prose(12_000)
	c.record("session_meta", `{"id":"`+c.session+`","session_id":"`+c.session+`","timestamp":"2026-02-01T08:00:00.000Z","cwd":"`+c.cwd+
		`","originator":"codex_cli_rs","cli_version":"0.144.5","source":"cli","model_provider":"openai","base_instructions":{"text":`+q(string(c.b))+
		`},"git":{"commit_hash":"0123456789abcdef0123456789abcdef01234567","branch":"main"}}`)
}

func (c *codex) turn() {
	c.turns++
	id := uuid(c.r)
	c.event(`{"type":"task_started","turn_id":"` + id + `","started_at":` + strconv.FormatInt(c.at.Unix(), 10) + `,"model_context_window":272000}`)
	c.record("turn_context", `{"turn_id":"`+id+`","cwd":"`+c.cwd+`","approval_policy":"on-request","sandbox_policy":{"type":"workspace-write","writable_roots":["`+c.cwd+
		`"],"network_access":false},"model":"gpt-5.2-codex","personality":"pragmatic","effort":"high","summary":"auto","user_instructions":`+q(c.summary())+`}`)
	if c.turns%4 == 0 {
		c.meta() // the state is written down again
	}
	prompt := c.userText()
	c.item(`{"type":"message","role":"user","content":[{"type":"input_text","text":` + q(prompt) + `}]}`)
	c.event(`{"type":"user_message","message":` + q(prompt) + `,"images":[],"local_images":[],"text_elements":[]}`)
	for range 3 + c.r.IntN(10) {
		c.step()
	}
	c.answer()
	c.event(`{"type":"task_complete","turn_id":"` + id + `","last_agent_message":null}`)
}

// think is reasoning: a short headline in plain text, the rest encrypted.
func (c *codex) think() {
	headline := "**" + c.title() + "**"
	c.event(`{"type":"agent_reasoning","text":` + q(headline) + `}`)
	c.item(`{"type":"reasoning","id":"rs_` + c.digits(20) + `","summary":[{"type":"summary_text","text":` + q(headline) + `}],"content":null,"encrypted_content":"gAAAA` +
		c.base64(c.logn(3600, 0.8, 800, 60_000)) + `"}`)
}

// answer is what the model says, twice.
func (c *codex) answer() {
	text := c.assistantText()
	c.event(`{"type":"agent_message","message":` + q(text) + `}`)
	c.item(`{"type":"message","id":"msg_` + c.digits(20) + `","role":"assistant","content":[{"type":"output_text","text":` + q(text) + `}],"phase":"commentary"}`)
}

// step is one call with its result, and what is shown of it.
func (c *codex) step() {
	c.think()
	if c.r.IntN(4) == 0 {
		c.answer()
	}
	call := "call_" + c.base64(24)
	tool, arguments := c.call()
	switch tool {
	case "write":
		c.patch(call)
	default:
		out := c.resultText(tool)
		out = strings.ToValidUTF8(out[:min(len(out), 3*c.logn(900, 0.9, 30, 10_000))], "")
		c.item(`{"type":"function_call","id":"fc_` + c.digits(20) + `","name":"exec_command","arguments":` + q(arguments) + `,"call_id":"` + call + `"}`)
		c.event(`{"type":"exec_command_end","call_id":"` + call + `","process_id":"` + c.digits(5) + `","turn_id":"` + uuid(c.r) + `","command":["/bin/bash","-lc",` + q(arguments) +
			`],"cwd":"` + c.cwd + `","parsed_cmd":[{"type":"unknown","cmd":` + q(arguments) + `}],"source":"unified_exec_startup","stdout":"","stderr":"","aggregated_output":` + q(out) +
			`,"exit_code":0,"duration":{"secs":0,"nanos":` + c.digits(8) + `},"formatted_output":` + q(out) + `,"status":"completed"}`)
		c.item(`{"type":"function_call_output","call_id":"` + call + `","output":` + q("Chunk ID: "+c.digits(6)+"\nWall time: 0.05 seconds\nProcess exited with code 0\nOutput:\n"+out) + `}`)
	}
	c.count()
}

// patch changes a file: the event holds the whole of it.
func (c *codex) patch(call string) {
	path, text := c.file(), c.code(c.logn(500, 0.7, 100, 6000))
	input := "*** Begin Patch\n*** Update File: " + path + "\n@@\n+" + strings.ReplaceAll(text, "\n", "\n+") + "\n*** End Patch\n"
	c.item(`{"type":"custom_tool_call","id":"ctc_` + c.digits(20) + `","status":"completed","call_id":"` + call + `","name":"apply_patch","input":` + q(input) + `}`)
	c.event(`{"type":"patch_apply_end","call_id":"` + call + `","turn_id":"` + uuid(c.r) + `","stdout":"Success. Updated the following files:\nM ` + path +
		`\n","stderr":"","success":true,"changes":{` + q(path) + `:{"type":"update","unified_diff":` + q(input) + `,"move_path":null}},"status":"completed"}`)
	c.item(`{"type":"custom_tool_call_output","call_id":"` + call + `","output":"Success. Updated the following files:\nM ` + path + `\n"}`)
}

// count says how many tokens were used.
func (c *codex) count() {
	usage := func() string {
		return `{"input_tokens":` + c.digits(6) + `,"cached_input_tokens":` + c.digits(6) + `,"output_tokens":` + c.digits(4) + `,"reasoning_output_tokens":` + c.digits(4) + `,"total_tokens":` + c.digits(6) + `}`
	}
	limit := func() string {
		return `{"used_percent":` + strconv.Itoa(c.r.IntN(100)) + `.0,"window_minutes":300,"resets_at":` + c.digits(10) + `}`
	}
	c.event(`{"type":"token_count","info":{"total_token_usage":` + usage() + `,"last_token_usage":` + usage() +
		`,"model_context_window":258400},"rate_limits":{"limit_id":"codex","limit_name":null,"primary":` + limit() + `,"secondary":` + limit() + `,"credits":null,"plan_type":"pro"}}`)
}
