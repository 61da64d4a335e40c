// Speaks MCP with a server and holds it to what a client needs: it introduces
// itself, lists the five tools, answers a call, and ends with its input.
//
//   node handshake.mjs COMMAND [ARGUMENT...]
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const answers = createInterface({ input: server.stdout });
const waiting = new Map();
answers.on("line", (line) => {
  const message = JSON.parse(line); // anything else on this stream is a fault
  waiting.get(message.id)?.(message);
});

let last = 0;
function ask(method, params) {
  const id = ++last;
  server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
  return new Promise((done) => waiting.set(id, done));
}
function must(held, what) {
  if (!held) {
    console.error(`handshake: ${what}`);
    server.kill("SIGKILL");
    process.exit(1);
  }
}
const late = setTimeout(() => must(false, "no answer within 60 seconds"), 60_000);

const hello = await ask("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "handshake", version: "1" },
});
must(hello.result?.serverInfo?.name === "yore", `the server introduces itself as ${JSON.stringify(hello)}`);
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');

const names = (await ask("tools/list", {})).result.tools.map((t) => t.name).sort();
const want = ["session_event_read", "session_event_search", "session_event_trace", "session_search", "session_trace"];
must(JSON.stringify(names) === JSON.stringify(want), `the tools are ${names}`);

const found = await ask("tools/call", { name: "session_search", arguments: { query: "zyzzyva" } });
must(!found.result?.isError && /No session matches/.test(found.result?.content?.[0]?.text), `the search says ${JSON.stringify(found)}`);

server.stdin.end();
const code = await new Promise((done) => server.on("exit", done));
clearTimeout(late);
must(code === 0, `the server ended with ${code}`);
console.log("handshake: five tools, a search, an orderly end");
