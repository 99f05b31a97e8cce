import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { firstLoadBudget } from './scripts/first-load-budget.js'
import { precompress } from './scripts/precompress.js'

const service = 'http://localhost:4021'

/** The console: `npm run build:dashboard` makes what the service serves, `npx vite` a page that follows the sources. */
export default defineConfig({
  root: 'src/dashboard',
  plugins: [react(), tailwindcss(), firstLoadBudget({ maxGzipBytes: 150_000 }), precompress()],
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    // The policy allows fonts and code from our own origin only, so nothing becomes a data URI.
    assetsInlineLimit: 0,
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/discovery', '/payments', '/supported'].map((path) => [path, service]),
    ),
  },
})
