import { defineConfig } from "vite";

// `npm run dev` passes the server's paths through to a running `parlour serve`.
const server = process.env.PARLOUR_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  define: { __VERSION__: JSON.stringify(process.env.npm_package_version ?? "0") },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    // Nothing inline: the server's Content-Security-Policy allows files of its own only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox128", "safari17.5"],
  },
  server: {
    proxy: {
      "/v1/ws": { target: server, ws: true },
      "/v1": { target: server },
    },
  },
});
