import { gzipSync } from 'node:zlib'

interface Chunk {
  type: 'chunk' | 'asset'
  fileName: string
  code?: string
  source?: string | Uint8Array
  isEntry?: boolean
  imports?: string[]
  viteMetadata?: { importedCss: Set<string> }
}

/** The shape of a Vite plugin, so that this file needs no Vite. */
interface Budget {
  name: string
  apply: 'build'
  enforce: 'post'
  generateBundle(
    this: { error(message: string): never; info(message: string): void },
    options: unknown,
    bundle: Record<string, Chunk>,
  ): void
}

/** Makes a Vite plugin that fails the build when page, entry code and styles together exceed `maxGzipBytes`. */
export function firstLoadBudget({ maxGzipBytes }: { maxGzipBytes: number }): Budget {
  return {
    name: 'arcus-first-load-budget',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const files = firstLoad(bundle)
      const bytes = files.reduce((sum, file) => sum + gzipSync(contentOf(file)).length, 0)
      const summary = `The first load is ${(bytes / 1000).toFixed(1)} kB gzip (${files.length} files), at most ${maxGzipBytes / 1000} kB.`
      if (bytes > maxGzipBytes) this.error(summary)
      this.info(summary)
    },
  }
}

/** Returns the page, the entry, all their static imports, and the styles of these files. */
function firstLoad(bundle: Record<string, Chunk>): Chunk[] {
  const names = new Set<string>()
  const visit = (name: string) => {
    const file = bundle[name]
    if (file === undefined || names.has(name)) return
    names.add(name)
    for (const imported of [...(file.imports ?? []), ...(file.viteMetadata?.importedCss ?? [])]) {
      visit(imported)
    }
  }
  for (const [name, file] of Object.entries(bundle)) {
    if (file.isEntry === true || name.endsWith('.html')) visit(name)
  }
  return [...names].map((name) => bundle[name] as Chunk)
}

function contentOf({ code, source }: Chunk): string | Uint8Array {
  return code ?? source ?? ''
}
