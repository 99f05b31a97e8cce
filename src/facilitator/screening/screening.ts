import { type Rejection, reject } from '@arcus/protocol/x402/reasons'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { FacilitatorSettingsError, type ScreeningSettings } from '../settings.js'
import { ScreeningList, ScreeningListError } from './list.js'
import { type Parties, ScreeningService, type ScreeningVerdict } from './service.js'

/** Why a payment was not let through. */
export interface ScreenedOut {
  by: 'list' | 'service' | 'error'
  side: 'payer' | 'payTo' | 'both'
}

/** Metrics of screening. */
export interface ScreeningObserver {
  refused(refusal: ScreenedOut): void
  /** The service gave a verdict, or none, after `seconds`. */
  asked(verdict: ScreeningVerdict, seconds: number): void
}

/** Says whether the operator lets two parties pay each other. */
export interface Screening {
  /**
   * Resolves with a rejection, or `undefined` where the payment may go on. It is asked about payments that are signed and
   * not yet claimed.
   */
  check(parties: Parties): Promise<Rejection | undefined>
  list: ScreeningList | undefined
}

/** The line of a refusal comes once an hour for the same parties. */
const LOGGED_MS = 3_600_000
const MAX_LOGGED = 10_000

/**
 * Opens the screening of the settings; `undefined` without any. Throws `FacilitatorSettingsError` where the list is missing,
 * empty or broken.
 */
export async function openScreening(
  settings: ScreeningSettings | undefined,
  observer: ScreeningObserver,
  log: ScreeningLog,
): Promise<Screening | undefined> {
  if (settings === undefined) return undefined
  const { listFile, serviceUrl, onError = 'refuse' } = settings
  const list =
    listFile === undefined ? undefined : await ScreeningList.open(listFile).catch(cannotStart)
  const service =
    serviceUrl === undefined ? undefined : new ScreeningService(serviceUrl, observer.asked)
  return createScreening({ list, service, onError, onRefused: observer.refused, log })
}

function cannotStart(error: unknown): never {
  if (!(error instanceof ScreeningListError)) throw error
  throw new FacilitatorSettingsError(`SCREENING_LIST_FILE: ${error.message}`, { cause: error })
}

interface ScreeningLog {
  warn(details: object, message: string): void
}

function createScreening(options: {
  list: ScreeningList | undefined
  service: ScreeningService | undefined
  onError: 'refuse' | 'allow'
  onRefused(refusal: ScreenedOut): void
  log: ScreeningLog
}): Screening {
  const { list, service, onError, onRefused, log } = options
  const logged = new LRUCache<string, true>({ max: MAX_LOGGED, ttl: LOGGED_MS })

  /** Counts a refusal, and writes the one line that names the parties: the caller learns of no list. */
  function note(refusal: ScreenedOut, parties: Parties, err?: unknown): void {
    onRefused(refusal)
    const { by, side } = refusal
    const who = side === 'payer' ? parties.payer : `${parties.payer}/${parties.payTo}`
    const name = `${by}/${side}/${who}`
    if (logged.has(name)) return
    logged.set(name, true)
    log.warn(
      { err, ...parties, by, side, list: list?.figures().hash },
      'screening refused a payment',
    )
  }

  function checkList(parties: Parties): Rejection | undefined {
    if (list === undefined) return undefined
    if (list.has(parties.payer)) {
      note({ by: 'list', side: 'payer' }, parties)
      return payerRefused(parties.payer)
    }
    if (!list.has(parties.payTo)) return undefined
    note({ by: 'list', side: 'payTo' }, parties)
    return payToRefused(parties.payTo)
  }

  async function checkService(parties: Parties): Promise<Rejection | undefined> {
    if (service === undefined) return undefined
    try {
      if (await service.allows(parties)) return undefined
      note({ by: 'service', side: 'both' }, parties)
      return payerRefused(parties.payer)
    } catch (err) {
      if (onError === 'allow') return undefined
      note({ by: 'error', side: 'both' }, parties, err)
      const message =
        'The payment could not be screened, and nothing was sent; try again in a moment.'
      return reject('screeningUnavailable', message)
    }
  }

  return {
    list,
    check: async (parties) => checkList(parties) ?? (await checkService(parties)),
  }
}

function payerRefused(payer: Address): Rejection {
  return reject('payerNotAllowed', `The operator of this facilitator refuses the payer ${payer}.`)
}

function payToRefused(payTo: Address): Rejection {
  return reject(
    'payToNotAllowed',
    `The operator of this facilitator refuses the recipient ${payTo}.`,
  )
}
