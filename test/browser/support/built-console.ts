import { buildConsole } from '../../../src/devnet/stack.js'
import { reasonToSkip } from './chromium.js'

/** Builds the console from `src/console` before all browser tests. Throws if CI has no browser. */
export async function setup(): Promise<void> {
  const reason = reasonToSkip()
  if (reason !== undefined) {
    process.stdout.write(`Browser tests are skipped: ${reason}.\n`)
    return
  }
  const build = await buildConsole()
  if (build.state === 'failed') throw new Error(`The console does not build:\n${build.complaint}`)
}
