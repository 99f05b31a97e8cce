import { type ExecFileException, execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Bundles `arcus-client`, or another script over the same package, into a folder, because it starts many times. Returns
 * the script, to be run with `node`.
 */
export async function bundleClientCommand(
  folder: string,
  ssr = 'packages/client/src/bin.ts',
): Promise<string> {
  const outDir = join(folder, 'bin')
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    resolve: { tsconfigPaths: true },
    ssr: { noExternal: true },
    build: {
      ssr,
      target: 'node20',
      outDir,
      minify: false,
      rolldownOptions: {
        output: { entryFileNames: 'bin.mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })
  return join(outDir, 'bin.mjs')
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** Runs a script to its end. `env` is all of its environment but the path. */
export function runScript(
  script: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<Ran> {
  const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 32 * 1_024 * 1_024 }
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) => {
      resolve({ code: Number((error as ExecFileException | null)?.code ?? 0), stdout, stderr })
    })
  })
}
