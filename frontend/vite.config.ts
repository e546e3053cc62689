import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
// @ts-expect-error plain JavaScript, run by the build only
import { precompress } from "./build/precompress.mjs";
// @ts-expect-error likewise
import { strictXterm } from "./build/strict-xterm.mjs";

const backend = process.env.HYDRA_DEV_BACKEND ?? "http://127.0.0.1:8470";

// Names carry a 12-digit hex hash: the web process marks exactly those as never changing.
export default defineConfig(({ command }) => ({
  base: command === "build" ? "/static/" : "/",
  plugins: [react(), strictXterm(`${import.meta.dirname}/src/ui/nonce.ts`), precompress("dist")],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        hashCharacters: "hex",
        entryFileNames: "assets/[name].[hash:12].js",
        chunkFileNames: "assets/[name].[hash:12].js",
        assetFileNames: "assets/[name].[hash:12][extname]",
      },
    },
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": backend, "/ws": { target: backend, ws: true } },
  },
  // Tests change nothing that others read, so they share one process: each of its own would load everything again.
  // Their time-out ends what hangs, not what a busy machine makes slow.
  test: { environment: "node", include: ["src/**/*.test.ts"], isolate: false, maxWorkers: 1, testTimeout: 120_000 },
}));
