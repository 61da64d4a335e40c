// Makes the npm packages out of the binaries of a release: one for each system,
// and one with the launcher, which names the others as optional dependencies, so
// that npm installs the one whose os and cpu fit.
//
//   node packaging/npm/pack.mjs BINARIES OUT VERSION
//
// BINARIES is what tools/release/run.sh wrote; a system whose binary is not there
// gets no package, but the launcher names all six. VERSION is as npm writes it,
// without v. OUT gets a tarball a package and packages.json: what a registry would
// say of each.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [binaries, out, version] = process.argv.slice(2);
if (!version || !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) {
  console.error("pack.mjs BINARIES OUT VERSION (1.2.3, without v)");
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");

// Go's names of a system, and Node's.
const systems = [
  ["linux", "amd64", "linux", "x64"],
  ["linux", "arm64", "linux", "arm64"],
  ["darwin", "amd64", "darwin", "x64"],
  ["darwin", "arm64", "darwin", "arm64"],
  ["windows", "amd64", "win32", "x64"],
  ["windows", "arm64", "win32", "arm64"],
];

const common = {
  version,
  license: "Apache-2.0",
  homepage: "https://github.com/yorehq/yore",
  repository: { type: "git", url: "git+https://github.com/yorehq/yore.git" },
  bugs: "https://github.com/yorehq/yore/issues",
  publishConfig: { access: "public", provenance: true },
};

const stage = mkdtempSync(join(tmpdir(), "yore-npm-"));
mkdirSync(out, { recursive: true });
const made = [];

// pack packs a folder whose files are there already.
function pack(folder, manifest) {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  const said = execFileSync("npm", ["pack", "--json", "--pack-destination", resolve(out)], {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  const [{ filename, integrity, shasum }] = Object.values(JSON.parse(said));
  made.push({ manifest, filename, integrity, shasum });
  console.log(filename);
}

try {
  const optionalDependencies = {};
  for (const [goos, goarch, os, cpu] of systems) {
    const name = `@yorehq/yore-${os}-${cpu}`;
    optionalDependencies[name] = version;
    const file = os === "win32" ? "yore.exe" : "yore";
    const built = join(binaries, `yore_${goos}_${goarch}${os === "win32" ? ".exe" : ""}`);
    if (!existsSync(built)) continue;
    const folder = join(stage, `${os}-${cpu}`);
    mkdirSync(join(folder, "bin"), { recursive: true });
    copyFileSync(built, join(folder, "bin", file));
    chmodSync(join(folder, "bin", file), 0o755);
    copyFileSync(join(root, "THIRD_PARTY.md"), join(folder, "THIRD_PARTY.md"));
    writeFileSync(join(folder, "README.md"), `# ${name}\n\nThe binary of yore for ${os}-${cpu}. Install \`@yorehq/yore\`, which brings it.\n`);
    pack(folder, { name, description: `The binary of yore for ${os}-${cpu}`, ...common, os: [os], cpu: [cpu], files: ["bin", "THIRD_PARTY.md"], preferUnplugged: true });
  }
  const folder = join(stage, "yore");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(here, "yore.js"), join(folder, "yore.js"));
  copyFileSync(join(here, "README.md"), join(folder, "README.md"));
  pack(folder, {
    name: "@yorehq/yore",
    description: "Search and trace the session logs that AI coding agents leave on disk: command line, MCP server, local page",
    ...common,
    keywords: ["mcp", "mcp-server", "coding-agent", "session-history", "claude-code", "codex", "search"],
    bin: { yore: "yore.js" },
    files: ["yore.js"],
    engines: { node: ">=18" },
    optionalDependencies,
  });
  writeFileSync(join(out, "packages.json"), JSON.stringify(made, null, 2) + "\n");
} finally {
  rmSync(stage, { recursive: true, force: true });
}
