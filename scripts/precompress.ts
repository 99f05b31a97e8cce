import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Smaller files travel in one packet either way. */
const FROM_BYTES = 1_024
const WORTH_IT = /\.(css|html|js|json|svg|txt|webmanifest)$/

/** Structurally a Vite plugin, so that this file needs no Vite. */
interface AfterBuild {
  name: string
  apply: 'build'
  configResolved(config: { root: string; build: { outDir: string } }): void
  closeBundle(): void
}

/** A Vite plugin that lays `.br` and `.gz` beside what was built, so that serving compresses nothing. */
export function precompress(): AfterBuild {
  let folder = ''
  return {
    name: 'arcus-precompress',
    apply: 'build',
    configResolved({ root, build }) {
      folder = resolve(root, build.outDir)
    },
    closeBundle() {
      compressFolder(folder)
    },
  }
}

function compressFolder(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    if (!WORTH_IT.test(name) || statSync(path).size < FROM_BYTES) continue
    const bytes = readFileSync(path)
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    }
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
}
