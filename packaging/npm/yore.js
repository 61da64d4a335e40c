#!/usr/bin/env node
// Starts the binary of this system, which npm installed beside this package
// because its os and cpu fit, and is to the outside as if it were that binary:
// its streams, its arguments, its exit code, its signals.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { version, optionalDependencies: packages } = require("./package.json");

function fail(text) {
  process.stderr.write(`yore: ${text}\n`);
  process.exit(1);
}

function binary() {
  const name = `@yorehq/yore-${process.platform}-${process.arch}`;
  if (!packages[name]) {
    const known = Object.keys(packages).map((p) => p.slice("@yorehq/yore-".length));
    fail(
      `there is no binary for ${process.platform}-${process.arch}, only for ${known.join(", ")}. ` +
        "With Go it can be built: go install github.com/yorehq/yore/cmd/yore@latest"
    );
  }
  const file = process.platform === "win32" ? "yore.exe" : "yore";
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    fail(
      `the package ${name} is not there. npm leaves it out with --omit=optional, and a node_modules folder ` +
        `from another system lacks it: npm install ${name}@${version}`
    );
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit", windowsHide: true });

// What is sent to this process is meant for the binary. A terminal sends Ctrl-C
// to both of them already, and a second one would cut short an orderly end.
const forwarded = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"];
for (const signal of forwarded) {
  const typed = signal === "SIGINT" || signal === "SIGQUIT";
  process.on(signal, () => {
    if (!typed || !process.stdin.isTTY) child.kill(signal);
  });
}

child.on("error", (e) => fail(`the binary does not start: ${e.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const s of forwarded) process.removeAllListeners(s);
  process.kill(process.pid, signal);
  // Where that did not end the process, a shell's convention does.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 100);
});
