import type { NetworkId } from '@arcus/protocol/x402/networks'
import type { Rpc } from '../../chain/rpc.js'
import type { Token } from '../../chain/token.js'
import type { SettlementJournal } from '../../facilitator/journal/settlement-journal.js'
import { closedAnywhere } from '../../facilitator/relayer/lane/lane.js'
import type { Relayer } from '../../facilitator/relayer/relayer.js'
import type { ReadinessCheck } from '../../http/health.js'
import type { LeaseKeeper } from '../../sql/lease-keeper.js'
import type { ReadRunway } from '../metrics/gas-money.js'
import type { DiskWatch } from '../stores/disk-watch.js'
import { checkTokens, checkWallets, readWallets } from './chain-checks.js'
import { type Finding, fail, ok, warn } from './finding.js'
import { describeBytes } from './settings-checks.js'

/** The parts of one served network that readiness checks. */
export interface ReadyNetwork {
  network: NetworkId
  chainId: number
  rpc: Rpc
  /** One for each token; it throws `TokenMismatchError` when the token is not the one pinned at start. */
  readTokens: readonly (() => Promise<Token>)[]
  relayer: Pick<Relayer, 'addresses' | 'lanes'>
  /** 18-decimal units per gas of the next transaction; undefined before the first block. */
  feePerGas(): bigint | undefined
  readRunway: ReadRunway
}

interface ReadinessParts {
  journal: Pick<SettlementJournal, 'isWritable'>
  /** `undefined` where this process sends nothing. */
  leases: Pick<LeaseKeeper, 'isShared' | 'isRenewed' | 'ageMs'> | undefined
  /** Whether the database is a server. */
  isServer: boolean
  disk: Pick<DiskWatch, 'isLow' | 'freeBytes'>
  networks: readonly ReadyNetwork[]
  /** `undefined` where this process has no directory. */
  directory: ReadyDirectory | undefined
}

/** The directory of this process as readiness checks it. */
interface ReadyDirectory {
  /** Whether there is no facilitator in this process. */
  isAlone: boolean
  isUp(): boolean
  /** Its leases, as it last reported them. */
  leases(): { isRenewed: boolean; ageMs: number | undefined } | undefined
}

/**
 * Creates the checks of everything without which no payment can be settled, or without which a directory alone serves
 * nobody. The doctor runs the same checks.
 */
export function createReadinessChecks({
  journal,
  leases,
  isServer,
  disk,
  networks,
  directory,
}: ReadinessParts): ReadinessCheck[] {
  return [
    {
      ...toCheck('journal', async () => checkJournal(await journal.isWritable(), isServer)),
      late: 'a write to the database does not end in time',
    },
    ...(leases?.isShared ? [toCheck('leases', async () => checkLeases(leases))] : []),
    ...(disk.freeBytes() === undefined ? [] : [toCheck('disk', async () => checkDisk(disk))]),
    ...networks.flatMap((served) => [
      toCheck(`chain ${served.network}`, () => checkTokens(served, served.readTokens)),
      toCheck(`relayers ${served.network}`, () => checkRelayers(served)),
    ]),
    ...(directory === undefined
      ? []
      : [toCheck('directory', async () => checkDirectory(directory))]),
  ]
}

/** Turns a finding into a check. A warning does not fail the check; it is only reported, because callers need not go elsewhere. */
function toCheck(name: string, find: () => Promise<Finding>): ReadinessCheck {
  return {
    name,
    async check() {
      const { state, detail } = await find()
      return { ok: state !== 'fail', detail, ...(state === 'warn' && { warning: true }) }
    },
  }
}

function checkJournal(isWritable: boolean, isServer: boolean): Finding {
  if (isWritable) return ok('journal', 'writable')
  const [place, fix] = isServer ? ['database', 'Check the server.'] : ['disk', 'Check the disk.']
  return fail('journal', `the journal cannot be written: check the ${place}`, fix)
}

function checkLeases(leases: Pick<LeaseKeeper, 'isRenewed' | 'ageMs'>): Finding {
  const seconds = ((leases.ageMs() ?? 0) / 1000).toFixed(1)
  if (leases.isRenewed()) return ok('leases', `renewed ${seconds} s ago`)
  const detail = `not renewed for ${seconds} s, so nothing is sent from here: the database waits or cannot be reached`
  return fail('leases', detail, 'Check the database server and the network to it.')
}

/** Returns a warning on little space and no failure: payments are kept as long as there is any space. */
function checkDisk({ isLow, freeBytes }: Pick<DiskWatch, 'isLow' | 'freeBytes'>): Finding {
  const free = `${describeBytes(freeBytes() ?? 0)} free`
  if (!isLow()) return ok('disk', free)
  const detail = `${free}: nearly full, so that activity and listings are not kept; payments are`
  return warn('disk', detail, 'Make room.')
}

/**
 * Returns a warning while the directory is away: payments do not need it. A process that serves nothing else fails. Without
 * its leases it answers all the same, and other processes do what one does for all.
 */
function checkDirectory({ isAlone, isUp, leases }: ReadyDirectory): Finding {
  const name = 'directory'
  const fix = 'See the log if it does not come back.'
  if (!isUp()) {
    if (isAlone) return fail(name, 'it is starting', fix)
    return warn(name, 'it is starting; payments settle meanwhile', fix)
  }
  const { isRenewed = true, ageMs = 0 } = leases() ?? {}
  if (isRenewed) return ok(name, 'answers')
  const seconds = (ageMs / 1000).toFixed(1)
  const detail = `answers, but its leases are not renewed for ${seconds} s, so upkeep is left to other processes: the database waits or cannot be reached`
  return warn(name, detail, 'Check the database server and the network to it.')
}

async function checkRelayers(served: ReadyNetwork): Promise<Finding> {
  const { network, rpc, relayer, feePerGas, readRunway } = served
  const lanes = relayer.lanes()
  const wallets = await readWallets(rpc, relayer.addresses)
  const known = wallets.map((wallet, i) => ({
    ...wallet,
    closed: lanes[i] && closedAnywhere(lanes[i]),
  }))
  return checkWallets(network, known, feePerGas() ?? 0n, readRunway)
}
