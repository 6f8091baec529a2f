import { defineConfig } from 'vite'

export default defineConfig({
  build: {
    outDir: '../assets',
    emptyOutDir: true,
    assetsDir: '.',
    // The policy of the server allows no code and no style in the page itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    license: { fileName: 'LICENSES.txt' },
  },
})
