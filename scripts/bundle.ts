import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'
import { verbs } from '../src/cli/commands.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = `${root}src/`

/** Packages that stay in `node_modules`: they have compiled parts, or are loaded only where a setting asks for them. */
export const external = ['better-sqlite3', 'pg', 'secp256k1']
/** Scripts that the service runs as threads. */
const threads = [
  'app/directory/directory-thread',
  'directory/discovery/discovery-thread',
  'sql/sqlite/checkpoint-thread',
]

/**
 * Bundles the service, its threads and the command `arcus` with the packages that they use. A process that loads a
 * few files starts twice as fast as one that loads two thousand. `licenses.md` next to them names what is bundled. The
 * verbs of developers are bundled for tests alone.
 */
export async function bundleService(outDir: string, { forDevelopers = false } = {}): Promise<void> {
  const entries = ['main', 'cli/arcus', ...threads]
  removeBundle(outDir)
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    resolve: { tsconfigPaths: true },
    // The letters that look alike would be a function each otherwise.
    json: { namedExports: false },
    plugins: [keepModuleUrls(), keepNarrow(), ...(forDevelopers ? [] : [leaveOutDevelopers()])],
    ssr: { noExternal: true, external },
    build: {
      ssr: true,
      target: 'node20',
      outDir,
      // The console is built by itself.
      emptyOutDir: false,
      sourcemap: true,
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        input: Object.fromEntries(entries.map((name) => [name, `${sources}${name}.ts`])),
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: 'chunks/[name]-[hash].js',
          // Each thread keeps the text of all that it runs.
          comments: { legal: true, annotation: false, jsdoc: false },
        },
      },
    },
  })
}

/** Removes what an earlier build left, but for the console. */
function removeBundle(outDir: string): void {
  if (!existsSync(outDir)) return
  for (const name of readdirSync(outDir)) {
    if (name !== 'console') rmSync(join(outDir, name), { recursive: true, force: true })
  }
}

/** Leaves the verbs of developers empty: they need the local chain and packages of development. */
function leaveOutDevelopers(): Plugin {
  const files = Object.entries(verbs)
    .filter(([, { isForDevelopers }]) => isForDevelopers)
    .map(([name]) => `${sources}cli/${name}.ts`)
  return {
    name: 'leave-out-developers',
    load: (id) => (files.includes(id) ? 'export const command = undefined' : undefined),
  }
}

/** Matches half a character or a whole one that does not fit into a byte, with the backslashes before it. */
const WIDE = /(\\*)([^\0-\xff])/g

/**
 * Writes characters that do not fit into a byte as escapes, those of two halves as two. The code means the same, but for
 * tagged templates; it does not run at all with a name of such halves in it.
 */
export function escapeWide(code: string): string {
  return code.replace(WIDE, (_, slashes: string, character: string) => {
    const escaped = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    // A backslash before the character itself means nothing, and would end the meaning of this one.
    return slashes.slice(0, slashes.length - (slashes.length % 2)) + escaped
  })
}

/** Keeps a script at a byte for a character. One wider character doubles the memory of all of it, in each thread. */
function keepNarrow(): Plugin {
  return {
    name: 'keep-narrow',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type === 'chunk') file.code = escapeWide(file.code)
      }
    },
  }
}

const MODULE_URL = /__moduleUrl\("([^"]+)"\)/g

/** Makes `import.meta.url` the address that the module would have if it were built alone: `dist/http/version.js`. */
function keepModuleUrls(): Plugin {
  return {
    name: 'keep-module-urls',
    transform(code, id) {
      if (!id.startsWith(sources) || !code.includes('import.meta.url')) return
      const module = id.slice(sources.length).replace(/\.ts$/, '.js')
      return { code: code.replaceAll('import.meta.url', `__moduleUrl("${module}")`), map: null }
    },
    renderChunk(code, { fileName }) {
      const up = '../'.repeat(fileName.split('/').length - 1) || './'
      const placed = code.replace(
        MODULE_URL,
        (_, module: string) => `new URL("${up}${module}", import.meta.url).href`,
      )
      return placed === code ? undefined : { code: placed, map: null }
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleService(`${root}dist`)
