import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { firstLoadBudget } from './scripts/first-load-budget.js'
import { precompress } from './scripts/precompress.js'
import { CONSOLE_FOLDER } from './src/http/console-folder.js'

/** The console, as `npm run build` makes it and the service serves it. */
export default defineConfig({
  // The settings of the service are no settings of the build.
  envDir: false,
  root: 'src/console',
  // The packages of this repository are built in from their sources.
  resolve: {
    tsconfigPaths: true,
    // React has this hook itself.
    alias: { 'use-sync-external-store/shim/index.js': 'react' },
  },
  plugins: [react(), tailwindcss(), firstLoadBudget({ maxGzipBytes: 130_000 }), precompress()],
  build: {
    outDir: `../../${CONSOLE_FOLDER}`,
    emptyOutDir: true,
    // The policy allows fonts and code from our own origin only, so nothing becomes a data URI.
    assetsInlineLimit: 0,
    // Every browser that can run the code knows it.
    modulePreload: { polyfill: false },
    // Not in a folder that the service serves.
    license: { fileName: 'legal/licenses.md' },
    // One file compresses better than the many that lazy pages would cut it into.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'first', tags: ['$initial'] },
            // All that wallets need of a chunk that would otherwise hold the code of contract calls as well.
            {
              name: 'viem',
              test: /viem\/_esm\/(?:accounts\/utils\/parseAccount|errors\/(?:utils|request))\.js/,
            },
          ],
        },
      },
    },
  },
})
