import { auditChain } from './audit.js'
import { compare, type Figure, line, median, short } from './figures.js'
import { drive, type Load } from './load.js'
import { makePayers, signPayments } from './payments.js'
import { type SideName, startSide } from './sides.js'

const BLOCK_GAS = 30_000_000
const CROWD = 1_024
/** One payer alone has at most seven eighths of a block. */
const payers = makePayers(16)
/** Enough for a dozen full blocks: the first and the last are never full. */
const CROWD_PAYMENTS = 8 * CROWD

/** On blocks of one second and 30 M gas: what one caller waits, and how full a crowd gets the blocks. */
export async function measureOneSecondBlocks(rounds: number): Promise<Figure[]> {
  const lone = { arcus: [] as number[], reference: [] as number[] }
  const crowd: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const name of ['arcus', 'reference'] as const) {
      lone[name].push((await measure(name, 12, 1)).p50Ms)
    }
    const run = await measure('arcus', CROWD_PAYMENTS, CROWD)
    const share = run.perSecond / (BLOCK_GAS / run.gasPerPayment)
    crowd.push(share)
    line(
      `  arcus at ${CROWD}: ${short(run.perSecond)}/s, p50 ${short(run.p50Ms)} ms, p99 ${short(run.p99Ms)} ms,` +
        ` ${run.failed} failed, ${run.untrue} untrue, ${short(run.gasPerPayment)} gas a payment`,
    )
  }
  const figure = compare('settle p50 at 1, 1 s blocks', lone.arcus, lone.reference, 'ms')
  line(`settles/s at ${CROWD}, 1 s blocks, as a share of the gas: ${short(median(crowd) * 100)} %`)
  return [figure]
}

async function measure(
  name: SideName,
  count: number,
  connections: number,
): Promise<Load & { untrue: number; gasPerPayment: number }> {
  const side = await startSide(name, {
    blockSeconds: 1,
    payers,
    env: { SETTLE_WAIT_SECONDS: '60' },
  })
  try {
    await drive(side.url, '/verify', await signPayments(300), 16)
    const load = await drive(side.url, '/settle', await signPayments(count, payers), connections)
    return { ...load, ...(await auditChain(side.chainUrl, load.told)) }
  } finally {
    await side.stop()
  }
}
