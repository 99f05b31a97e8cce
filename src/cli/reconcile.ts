import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import type { Address } from 'viem'
import { type NetworkConfig, readSettings } from '../app/config/config.js'
import type { Secrets } from '../app/config/secrets.js'
import { openStores } from '../app/stores/open-stores.js'
import type { Stores } from '../app/stores/stores.js'
import { toSeconds } from '../async/time.js'
import { findFirstBlockSince, readCommonHead } from '../chain/blocks.js'
import { createRpc, type Rpc } from '../chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { readToken, TokenMismatchError } from '../chain/token.js'
import { readExactDetails } from '../facilitator/methods/exact-job.js'
import { createPaymentDigest } from '../facilitator/methods/payment-method.js'
import { openSigners, SignerError } from '../facilitator/relayer/signer.js'
import {
  type ComparedPayment,
  createReconciliation,
  type RowState,
  STEP_BLOCKS,
} from '../facilitator/settle/reconciliation.js'
import {
  type Arguments,
  CommandError,
  defineCommand,
  print,
  printError,
  UsageError,
} from './command-line.js'
import { record, requireDatabase } from './merchants/operator-stores.js'

const help = `arcus reconcile --since TIME [--write]
arcus reconcile --from-block N [--to-block N] [--network eip155:5042] [--write]

Compares the journal with the payments that the relayer wallets brought on chain, and prints every payment whose row is
missing, says "failed", is open, or differs. Without --write it changes no payment.

  --since          UTC, such as 2026-11-20 or 2026-11-20T08:30Z: the time of the backup, or of the first payment
  --from-block     the same as a number, for one network
  --to-block       default the newest block
  --network        default every network of the settings
  --relayer        the address of a wallet whose key is no longer in the settings; may be repeated
  --write          inserts missing rows and corrects failed ones, as answered with success before; no other row changes
  --help           this text

It may run next to the service, be stopped, and be run again. Where the database is gone, --write makes a new one.
Exit code: 0 when journal and chain agree, 1 when they do not or cannot be read, 2 when the command is not understood.`

const parameters = {
  options: {
    since: { type: 'string' },
    'from-block': { type: 'string' },
    'to-block': { type: 'string' },
    network: { type: 'string' },
    relayer: { type: 'string', multiple: true, default: [] as string[] },
    write: { type: 'boolean', default: false },
  },
} as const

export const command = defineCommand(help, parameters, async ({ values }) => {
  const options = readOptions(values)
  const { config, secrets } = readSettings(process.env)
  const places = config.networks.filter(
    ({ network }) => options.network === undefined || network === options.network,
  )
  if (places.length === 0) throw new UsageError(`The settings do not name ${options.network}.`)
  if (options.since === undefined && places.length > 1) {
    throw new UsageError('Blocks are those of one network: add --network.')
  }
  const wallets = await readWallets(secrets, options.relayers)
  if (!options.write) requireDatabase(config.database)
  const stores = await openStores(config.database)
  try {
    let open = 0
    for (const place of places) open += await reconcile(place, { options, wallets, stores })
    if (open > 0) throw new CommandError(disagreement(open, options.write))
  } finally {
    await stores.close()
  }
})

/** Returns the addresses of the wallets of the settings and of these others, in lower case. */
async function readWallets(secrets: Secrets, others: readonly string[]): Promise<Set<Address>> {
  try {
    const { signers, close } = openSigners(secrets, await createKeccak256())
    await close()
    const addresses = [...signers.map(({ address }) => address), ...others]
    return new Set(addresses.map((address) => address.toLowerCase() as Address))
  } catch (error) {
    if (error instanceof SignerError) throw new CommandError(`${error.message}.`)
    throw error
  }
}

function disagreement(payments: number, isWriting: boolean): string {
  const them = payments === 1 ? '1 payment is' : `${payments} payments are`
  const fix = isWriting
    ? 'docs/operations.md, "Rebuilding the journal from the chain", says what to do.'
    : 'Nothing was written; --write corrects the payments that are missing or failed.'
  return `${them} not in the journal as on chain. ${fix}`
}

type ReconcileOptions = ReturnType<typeof readOptions>

/** `since` is in Unix seconds. */
function readOptions(values: Arguments<typeof parameters>['values']) {
  const { since, 'from-block': from, 'to-block': to, network, relayer, write } = values
  if ((since === undefined) === (from === undefined)) {
    throw new UsageError('Say where to begin, with --since or with --from-block; try --help.')
  }
  const stranger = relayer.find((address) => !/^0x[0-9a-f]{40}$/i.test(address))
  if (stranger !== undefined) {
    throw new UsageError(`--relayer wants an address, not "${stranger}".`)
  }
  return {
    network,
    since: since === undefined ? undefined : parseTime(since),
    fromBlock: from === undefined ? 0 : parseBlock('--from-block', from),
    toBlock: to === undefined ? undefined : parseBlock('--to-block', to),
    relayers: relayer,
    write,
  }
}

function parseTime(text: string): number {
  const isUtc = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(\.\d+)?Z)?$/.test(text)
  const seconds = isUtc ? Math.floor(Date.parse(text) / 1000) : Number.NaN
  if (!Number.isNaN(seconds)) return seconds
  throw new UsageError(`--since wants a time in UTC, such as 2026-11-20T08:30Z, not "${text}".`)
}

function parseBlock(flag: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw new UsageError(`${flag} wants the number of a block, not "${text}".`)
}

interface Task {
  options: ReconcileOptions
  wallets: ReadonlySet<Address>
  stores: Stores
}

const PROGRESS_MS = 10_000

/** Returns the number of payments that are not in the journal as on chain in the end, without those that are open. */
async function reconcile(place: NetworkConfig, task: Task): Promise<number> {
  const { options, stores } = task
  const { network } = place
  const rpc = createRpc(place.rpcUrls)
  const counts: Record<RowState, number> = { same: 0, missing: 0, failed: 0, open: 0, differs: 0 }
  let written = 0
  let next: number | undefined
  try {
    const step = await openReconciliation(rpc, place, task)
    const { from, to } = await findRange(rpc, network, options)
    if (options.write) {
      const now = () => toSeconds(Date.now())
      await record({ ...stores, now }, 'reconcile', network, `blocks ${from} to ${to}`)
    }
    let reportedAt = Date.now()
    for (next = from; next <= to; next += STEP_BLOCKS) {
      const payments = await step({ from: next, to: Math.min(to, next + STEP_BLOCKS - 1) })
      for (const payment of payments) {
        counts[payment.state]++
        if (payment.isWritten) written++
        if (payment.state !== 'same') print(describe(payment))
      }
      if (Date.now() - reportedAt < PROGRESS_MS) continue
      reportedAt = Date.now()
      printError(`${network}: at block ${next} of ${to}`)
    }
    const { same, missing, failed, open, differs } = counts
    print(
      `${network}, blocks ${from} to ${to}: ${same} rows are as on chain, ${missing} missing, ${failed} failed, ` +
        `${open} open, ${differs} different; ${written} written.`,
    )
    return missing + failed + differs - written
  } catch (error) {
    throw explain(error, network, next)
  } finally {
    await rpc.close()
  }
}

async function openReconciliation(rpc: Rpc, place: NetworkConfig, task: Task) {
  const { options, wallets, stores } = task
  const keccak256 = await createKeccak256()
  return createReconciliation({
    rpc,
    tokens: await Promise.all(
      place.assets.map((asset) => readToken(rpc, keccak256, { ...place, asset })),
    ),
    wallets,
    journal: stores.journal,
    rebuilt: options.write ? stores.rebuiltJobs : undefined,
    computeDigest: createPaymentDigest(keccak256),
    now: () => Date.now(),
  })
}

async function findRange(
  rpc: Rpc,
  network: string,
  { since, fromBlock, toBlock }: ReconcileOptions,
) {
  const head = await readCommonHead(rpc)
  const to = Math.min(head, toBlock ?? head)
  const from = since === undefined ? fromBlock : await findFirstBlockSince(rpc, since, to)
  if (from <= to) return { from, to }
  throw new CommandError(`${network} has no such blocks: its newest is ${head}.`)
}

/** Describes one payment on one line, with what the journal says about it. */
function describe({ state, paid, row, isWritten }: ComparedPayment): string {
  const { asset, payer, nonce, value, payTo } = readExactDetails(paid.job)
  const { transaction, blockNumber } = paid.outcome
  const said =
    row && ` (journal: ${[row.state, row.transaction, row.message].filter(Boolean).join(', ')})`
  return [
    state,
    `block ${blockNumber}`,
    transaction,
    `payer ${payer}`,
    `nonce ${nonce}`,
    `${value} of ${asset} to ${payTo}${said ?? ''}`,
    ...(isWritten ? ['written'] : []),
  ].join('  ')
}

/** Says where to go on after the chain could not be read. */
function explain(error: unknown, network: string, next: number | undefined): unknown {
  const isChain =
    error instanceof RpcUnavailableError ||
    error instanceof RpcResponseError ||
    error instanceof TokenMismatchError
  if (!isChain) return error
  const goOn = next === undefined ? '' : ` Go on with --network ${network} --from-block ${next}.`
  return new CommandError(`The chain ${network} cannot be read: ${error.message}.${goOn}`)
}
