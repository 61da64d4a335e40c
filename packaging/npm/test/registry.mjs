// A registry on loopback that serves the packages of a folder (packages.json of
// pack.mjs and the tarballs), and knows no other: 404 for the rest.
//
//   node registry.mjs FOLDER     prints its address, ends with its standard input
import { createReadStream, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";

const folder = process.argv[2];
const packages = JSON.parse(readFileSync(join(folder, "packages.json"), "utf8"));

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://loopback").pathname).slice(1);
  const tarball = packages.find((p) => path === `-/${p.filename}`);
  if (tarball) {
    response.setHeader("content-type", "application/octet-stream");
    createReadStream(join(folder, basename(tarball.filename))).pipe(response);
    return;
  }
  const found = packages.find((p) => p.manifest.name === path);
  response.setHeader("content-type", "application/json");
  if (!found) {
    response.statusCode = 404;
    response.end('{"error":"not found"}');
    return;
  }
  const { manifest, filename, integrity, shasum } = found;
  const dist = { tarball: `http://${request.headers.host}/-/${filename}`, integrity, shasum };
  response.end(
    JSON.stringify({
      name: manifest.name,
      "dist-tags": { latest: manifest.version },
      versions: { [manifest.version]: { ...manifest, dist } },
    })
  );
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
