import { buildDashboard } from '../../../src/devnet/stack.js'
import { reasonToSkip } from './chromium.js'

/** Before all browser tests: the console as it is in `src/dashboard` now. Throws where CI has no browser. */
export async function setup(): Promise<void> {
  const reason = reasonToSkip()
  if (reason !== undefined) {
    process.stdout.write(`Browser tests are skipped: ${reason}.\n`)
    return
  }
  const build = await buildDashboard()
  if (build.state === 'failed') throw new Error(`The console does not build:\n${build.complaint}`)
}
