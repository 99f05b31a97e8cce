import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Smaller files gain little. */
const FROM_BYTES = 512
const COMPRESSIBLE = /\.(css|html|js|json|svg|txt|webmanifest)$/

/** The shape of a Vite plugin, so that this file needs no Vite. */
interface AfterBuild {
  name: string
  apply: 'build'
  configResolved(config: { root: string; build: { outDir: string } }): void
  closeBundle(): void
}

/** Makes a Vite plugin that writes `.br` and `.gz` next to the built files, so that the service compresses nothing. */
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
    if (!COMPRESSIBLE.test(name) || statSync(path).size < FROM_BYTES) continue
    const bytes = readFileSync(path)
    const params = {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    }
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
}
