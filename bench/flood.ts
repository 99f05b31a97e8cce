import { Pool } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { mintUsdc } from '../src/devnet/fixtures.js'
import { aPermit2Payment, approvePermit2 } from '../test/support/a-permit2-payment.js'
import { aSignedPayment } from '../test/support/a-signed-payment.js'
import { line, median, quantile, short } from './figures.js'
import { startSide } from './sides.js'

/** Payments of one unit that one payer sends at once, to an account of their own. */
const BURST = 400
/** Those that follow in each second: what one address may post. */
const PER_SECOND = 100
/** Signed ahead: the flood lasts longer than the honest settles beside it. */
const FLOOD_PAYMENTS = 2_400
const HONEST = 30
/** Arc makes a block every half second. */
const BLOCK_SECONDS = 0.5
/** Between two honest settles, so that they meet every part of a block. */
const PAUSE_MS = 130

type Kind = 'EIP-3009' | 'exact by Permit2'

/**
 * What honest payers wait beside the flood of another one, against what they wait alone just before, in the same process
 * and on the same chain.
 */
export async function measureFlood(rounds: number): Promise<[]> {
  for (const kind of ['EIP-3009', 'exact by Permit2'] as const) {
    const runs: Awaited<ReturnType<typeof measure>>[] = []
    for (let round = 0; round < rounds; round++) runs.push(await measure(kind))
    const of = (pick: (run: (typeof runs)[number]) => number) => short(median(runs.map(pick)))
    line(
      `honest settle p50 beside ${BURST} of ${kind} of one payer and ${PER_SECOND} a second after them: ${of((run) => run.beside)} ms,` +
        ` alone ${of((run) => run.alone)} ms, x${of((run) => run.beside / run.alone)}` +
        ` (flood ${of((run) => run.flooded)} settles/s, ${of((run) => run.failed)} honest failed)`,
    )
  }
  return []
}

async function measure(kind: Kind) {
  const keys = devnetRelayers.map(({ privateKey }) => privateKey).join(',')
  const side = await startSide('arcus', {
    blockSeconds: BLOCK_SECONDS,
    env: { RELAYER_PRIVATE_KEYS: keys },
  })
  const pool = new Pool(side.url, { connections: 2 * BURST, headersTimeout: 120_000 })
  const settle = async (body: unknown): Promise<{ isPaid: boolean; ms: number }> => {
    const askedAt = performance.now()
    const headers = { 'content-type': 'application/json' }
    const request = {
      method: 'POST',
      path: '/settle',
      headers,
      body: JSON.stringify(body),
    } as const
    const response = await pool.request(request)
    const { success } = (await response.body.json()) as { success?: boolean }
    return { isPaid: success === true, ms: performance.now() - askedAt }
  }
  try {
    const flooder = privateKeyToAccount(generatePrivateKey())
    await mintUsdc(side.chainUrl, flooder.address, 10n ** 9n)
    if (kind !== 'EIP-3009') await approvePermit2(side.chainUrl, flooder.address, 10n ** 12n)
    const own = {
      from: flooder.address,
      signer: flooder,
      to: privateKeyToAccount(generatePrivateKey()).address,
    }
    const crowd: unknown[] = []
    for (let i = 0; i < FLOOD_PAYMENTS; i++) {
      crowd.push(
        kind === 'EIP-3009'
          ? await aSignedPayment({ ...own, value: 1n })
          : await aPermit2Payment({ ...own, scheme: 'exact', permitted: 1n }),
      )
    }
    await honestSettles(settle)
    const alone = await honestSettles(settle)
    let settled = 0
    const startedAt = performance.now()
    const flood: Promise<void>[] = []
    const post = (count: number) => {
      for (const it of crowd.splice(0, count)) {
        flood.push(
          settle(it).then(({ isPaid }) => {
            if (isPaid) settled++
          }),
        )
      }
    }
    post(BURST)
    const stream = setInterval(post, 1_000 / 10, PER_SECOND / 10)
    await pause(1_000)
    const beside = await honestSettles(settle)
    const flooded = settled / ((performance.now() - startedAt) / 1_000)
    if (crowd.length === 0) line('  the flood was over before the honest settles were')
    clearInterval(stream)
    await Promise.all(flood)
    return { alone: alone.p50, beside: beside.p50, failed: beside.failed, flooded }
  } finally {
    await pool.close()
    await side.stop()
  }
}

async function honestSettles(settle: (body: unknown) => Promise<{ isPaid: boolean; ms: number }>) {
  const answers: Promise<{ isPaid: boolean; ms: number }>[] = []
  for (let i = 0; i < HONEST; i++) {
    answers.push(
      settle(await aSignedPayment({ from: devnetPayer.address, to: devnetMerchant.address })),
    )
    await pause(PAUSE_MS)
  }
  const all = await Promise.all(answers)
  const failed = all.filter(({ isPaid }) => !isPaid).length
  return {
    p50: quantile(
      all.map(({ ms }) => ms),
      0.5,
    ),
    failed,
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
