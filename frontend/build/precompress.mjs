// Writes a .gz beside every text file of the bundle, so that the web process serves it compressed
// without compressing anything itself. The header's time and operating system are fixed: same input, same bytes.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const TEXT = /\.(js|css|svg|html)$/;
const SMALLEST = 1024; // bytes; below this the header eats the gain

function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

export function precompress(folder) {
  return {
    name: "precompress",
    apply: "build",
    closeBundle() {
      for (const path of files(folder)) {
        const raw = readFileSync(path);
        if (!TEXT.test(path) || path.endsWith("index.html") || raw.length < SMALLEST) continue;
        const packed = gzipSync(raw, { level: 9 });
        packed.fill(0, 4, 8);
        packed[9] = 255;
        writeFileSync(`${path}.gz`, packed);
      }
    },
  };
}
