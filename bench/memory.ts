import { line, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { type Side, startSide } from './sides.js'

/** Resident memory over 100,000 verifies and 10,000 settles: how high it goes, and whether it goes on rising. */
const VERIFIES = 100_000
const SETTLES = 10_000
/** Signed and driven in slices, so that the driver does not hold them all. */
const SLICE = 2_500

const side = await startSide('arcus')
try {
  line(`at start: ${short(side.rssMb())} MB`)
  await run(side, '/verify', VERIFIES, 64)
  await run(side, '/settle', SETTLES, 256)
  await new Promise((resolve) => setTimeout(resolve, 20_000))
  line(`20 s later: ${short(side.rssMb())} MB`)
} finally {
  await side.stop()
}

async function run(side: Side, path: '/verify' | '/settle', count: number, connections: number) {
  let highest = 0
  const sampler = setInterval(() => {
    highest = Math.max(highest, side.rssMb())
  }, 100)
  const after: string[] = []
  let failed = 0
  for (let done = 0; done < count; done += SLICE) {
    failed += (await drive(side.url, path, await signPayments(SLICE), connections)).failed
    if (done % (count / 4) === 0) after.push(short(side.rssMb()))
  }
  clearInterval(sampler)
  line(
    `${path}: ${count} at ${connections} connections, ${failed} failed; ` +
      `highest ${short(highest)} MB, on the way ${after.join(', ')}, at the end ${short(side.rssMb())} MB`,
  )
}
