/**
 * The cost of attestations: two processes on chains of their own, one without a key and one with, get the same load by
 * turns in many short slices. Neighbours share the machine's mood, so the median of their ratios tells more than two long
 * runs. `npm run build && npm run bench -- attestation [PAIRS]`.
 */
import { toHex } from 'viem'
import { auditChain } from './audit.js'
import { line, median, quantile, short } from './figures.js'
import { drive, type Load } from './load.js'
import { signPayments } from './payments.js'
import { type Side, startSide } from './sides.js'

const pairs = Number(process.argv[2] ?? 20)
const SLICE = 400
const CONNECTIONS = 50

interface Slice {
  perSecond: number
  /** Processor time of all threads of Arcus for one settle, microseconds. */
  cpuUs: number
}

const key = toHex(crypto.getRandomValues(new Uint8Array(32)))
const without = await startSide('arcus')
const attesting = await startSide('arcus', { env: { ATTESTATION_PRIVATE_KEY: key } })
const ratios: Record<keyof Slice, number[]> = { perSecond: [], cpuUs: [] }
const off: Slice[] = []
try {
  for (const side of [without, attesting]) await measure(side)
  for (let pair = 0; pair < pairs; pair++) {
    // The order alternates, so that a machine that gets slower does not favour one of them.
    const sides = pair % 2 === 0 ? [without, attesting] : [attesting, without]
    const slices = new Map<Side, Slice>()
    for (const side of sides) slices.set(side, await measure(side))
    const [plain, signed] = [slices.get(without) as Slice, slices.get(attesting) as Slice]
    off.push(plain)
    ratios.perSecond.push(signed.perSecond / plain.perSecond)
    ratios.cpuUs.push(signed.cpuUs / plain.cpuUs)
  }
} finally {
  await Promise.all([without.stop(), attesting.stop()])
}
line(`${pairs} pairs of ${SLICE} settles at ${CONNECTIONS} connections`)
describe('settles/s', 'perSecond')
describe('µs of processor time a settle', 'cpuUs')

async function measure(side: Side): Promise<Slice> {
  const payments = await signPayments(SLICE)
  const before = side.cpuMs()
  const load = await drive(side.url, '/settle', payments, CONNECTIONS)
  const cpuUs = ((side.cpuMs() - before) * 1_000) / SLICE
  await checkChain(side, load)
  return { perSecond: load.perSecond, cpuUs }
}

async function checkChain({ chainUrl }: Side, { told, failed }: Load): Promise<void> {
  const { untrue } = await auditChain(chainUrl, told)
  if (failed > 0 || untrue > 0) throw new Error(`${failed} failed, ${untrue} untrue`)
}

function describe(name: string, figure: keyof Slice): void {
  const found = ratios[figure]
  const [low, high] = [quantile(found, 0.25), quantile(found, 0.75)]
  line(
    `${name}: ${short(median(off.map((it) => it[figure])))} without a key, x${median(found).toFixed(3)} with one (half of the pairs x${low.toFixed(3)} to x${high.toFixed(3)})`,
  )
}
