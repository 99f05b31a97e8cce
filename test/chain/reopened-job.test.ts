import { randomUUID } from 'node:crypto'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { parseRequest } from '@arcus/protocol/x402/parse-request'
import type { Address, Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSqliteStores } from '../../src/app/stores/sqlite.js'
import { createAuthorizationUses } from '../../src/chain/authorization-uses.js'
import { createBlockFeed } from '../../src/chain/blocks.js'
import { createPaymentFactsReader } from '../../src/chain/payment-facts.js'
import { createRpc, type Rpc } from '../../src/chain/rpc.js'
import { readToken } from '../../src/chain/token.js'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { devnetContracts, mintUsdc } from '../../src/devnet/fixtures.js'
import type { Job, SettlementJournal } from '../../src/facilitator/journal/settlement-journal.js'
import { createGasModel } from '../../src/facilitator/relayer/gas.js'
import { createLeaseKeeper } from '../../src/facilitator/relayer/leases.js'
import { noRelayerEvents } from '../../src/facilitator/relayer/outcomes.js'
import { createRelayer } from '../../src/facilitator/relayer/relayer.js'
import { createLocalSigner } from '../../src/facilitator/relayer/signer.js'
import {
  createExactJob,
  createExactKind,
  createOwnTransactions,
  EXACT,
} from '../../src/facilitator/schemes/exact-job.js'
import { createOutcomeWait } from '../../src/facilitator/settle/settler.js'
import { laneLease } from '../../src/sql/leases.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'

const network = 'eip155:5042'
const log = { info() {}, warn() {} }

let anvil: Anvil
let rpc: Rpc
beforeAll(async () => {
  anvil = await startChain()
  rpc = createRpc([anvil.url])
})
afterAll(async () => {
  await rpc.close()
  await anvil.stop()
})

it.each([
  ['after it', 300],
  ['at the same moment', 0],
])(
  'a job opened again between the commit of its failure and what is told of it is brought on chain, told %s',
  async (_, lateMs) => {
    const { journal, relayer, waitForOutcome, holdOutcomes, close } = await aRelayer()
    const payer = privateKeyToAccount(generatePrivateKey())
    const poor = await aJob(payer)
    const claim = await journal.claim(poor, undefined, Date.now())
    const first = (claim as { job: Job }).job
    const tell = holdOutcomes()
    relayer.submit(first)
    const firstTold = waitForOutcome(first, Date.now() + 10_000, true)
    const findRow = () => journal.findJob(first.kind, network, first.key)
    const refused = { state: 'failed', reason: 'insufficientBalance' }
    await expect.poll(findRow, { timeout: 8_000 }).toMatchObject(refused)

    await mintUsdc(anvil.url, payer.address, 1_000_000n)
    const reopened = (await journal.reopen((await findRow()) as Job, poor, Date.now())) as Job
    relayer.submit(reopened)
    const secondTold = waitForOutcome(reopened, Date.now() + 10_000, true)
    setTimeout(tell, lateMs)

    expect(await firstTold).toMatchObject({ ...refused, round: first.round })
    expect(await secondTold).toMatchObject({ state: 'confirmed', round: reopened.round })
    await close()
  },
)

async function aRelayer() {
  const keccak256 = await createKeccak256()
  const stores = openSqliteStores(':memory:')
  const token = await readToken(rpc, keccak256, {
    network,
    chainId: 5042,
    asset: devnetContracts.usdc,
  })
  const signers = devnetRelayers
    .slice(0, 1)
    .map(({ privateKey }) => createLocalSigner(privateKey, keccak256))
  const leases = createLeaseKeeper(stores.leases, log)
  await leases.start([signers.map(({ address }) => laneLease(network, address))])
  let isHeld: Promise<void> | undefined
  const journal: SettlementJournal = {
    ...stores.journal,
    async resolve(resolution) {
      const decided = await stores.journal.resolve(resolution)
      await isHeld
      return decided
    },
  }
  const relayer = createRelayer({
    network,
    chainId: 5042,
    rpc,
    feed: createBlockFeed(rpc),
    journal,
    sharing: stores.sharing,
    leases,
    kinds: {
      [EXACT]: createExactKind({
        findUse: createAuthorizationUses(rpc),
        readFacts: createPaymentFactsReader(rpc, [token], () => 0),
        isOurs: createOwnTransactions(journal),
      }),
    },
    signers,
    gas: createGasModel(),
    hasMulticall3: true,
    maxBatch: 50,
    maxFeePerGas: 10n ** 12n,
    keccak256,
    now: Date.now,
    readCoded: async () => new Set(),
    gasLimits: { perAccount: 10n ** 18n, wasted: 10n ** 18n, subsidised: undefined },
    events: noRelayerEvents,
    log,
  })
  await relayer.start()
  return {
    journal,
    relayer,
    waitForOutcome: createOutcomeWait({
      journal,
      relayers: new Map([[network, relayer]]),
      settleWaitSeconds: 30,
      now: Date.now,
    }),
    /** Outcomes are kept at once and answered when the gate opens. */
    holdOutcomes() {
      let open = () => {}
      isHeld = new Promise((resolve) => {
        open = resolve
      })
      return () => {
        isHeld = undefined
        open()
      }
    },
    async close() {
      relayer.stop()
      await stores.close()
    },
  }
}

async function aJob(payer: ReturnType<typeof privateKeyToAccount>) {
  const body = await aSignedPayment({ from: payer.address as Address, signer: payer })
  const parsed = parseRequest(body)
  if (!parsed.ok) throw new Error(parsed.rejection.message)
  const { signature } = body.paymentPayload.payload
  const digest: Hex = `0x${'d1'.repeat(32)}`
  return createExactJob({
    id: randomUUID(),
    payment: parsed.payment,
    digest,
    signature,
    isAlone: false,
    seenBlock: 0,
    claimedAt: Date.now(),
  })
}
