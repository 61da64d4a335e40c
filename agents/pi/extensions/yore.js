// Registers yore's MCP server with Pi's own support for such servers. Its tools
// are declared to the model directly: there are five, and by default a model
// reaches a server's tools through scripts only.

/** @param {import("@earendil-works/pi-coding-agent").ExtensionAPI} pi */
export default function (pi) {
  pi.registerMcpServer("yore", {
    command: "yore",
    args: ["mcp"],
    exposure: "direct",
    description: "Earlier coding-agent sessions of this workspace: search, trace, read",
  });
}
