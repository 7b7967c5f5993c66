import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Addresses in the page are relative to its <base>, which the server sets (page.go), so that the console also works under a path of a proxy.
export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
  },
});
