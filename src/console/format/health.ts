import type { EndpointState, ProbeRecord } from '@arcus/protocol/answers/listings'
import { warningLevel } from './verdicts.js'

/** The facts by which an API is judged: its free checks, its last purchase by Arcus, and both of its prices. */
export interface JudgedApi extends Pick<EndpointState, 'status' | 'failures' | 'delivery'> {
  probe: Pick<ProbeRecord, 'verdict' | 'warnings'> | null
  /** Atomic units, as listed and as its 402 asks. */
  price: string
  livePrice: string | null
}

/** The states of an API in a word or two, the worst first. Those without money at risk are never red. */
const healths = {
  failing: ['Failing', 'bad'],
  undelivered: ['Did not deliver', 'bad'],
  unpayable: ['Cannot be paid', 'bad'],
  retried: ['Failing', 'warn'],
  drifted: ['Price differs', 'warn'],
  second: ['Second recipient', 'warn'],
  uncalled: ['Never checked', 'plain'],
  unchecked: ['Not checked yet', 'plain'],
  live: ['Live', 'ok'],
} as const

type HealthKind = keyof typeof healths

/** The state of an API: the one that every page shows. */
export interface Health {
  kind: HealthKind
  name: string
  tone: 'ok' | 'warn' | 'bad' | 'plain'
}

/** Failed checks in a row after which the service calls an API failing. */
const FAILURES_TO_FAILING = 3

/** Judges an API by the worst of its checks and its last purchase. Only an API without any fault is live. */
export function healthOf(api: JudgedApi): Health {
  const kind = kindOf(api)
  const [word, tone] = healths[kind]
  const count = `${Math.max(1, api.failures)} of ${FAILURES_TO_FAILING}`
  return { kind, name: kind === 'retried' ? `${word}, ${count}` : word, tone }
}

function kindOf({ status, probe, delivery, price, livePrice }: JudgedApi): HealthKind {
  const warnings = probe?.warnings ?? []
  const verdict = probe?.verdict ?? 'not_checked'
  const isDearer = delivery?.last.reason === 'price_changed'
  if (status === 'failing') return 'failing'
  if (delivery?.last.delivered === false && !isDearer) return 'undelivered'
  if (warnings.some((code) => code !== 'price_drift' && warningLevel(code) === 'bad')) {
    return 'unpayable'
  }
  if (verdict === 'not_called') return 'uncalled'
  if (verdict === 'not_checked') return 'unchecked'
  if (verdict !== 'live') return 'retried'
  const isOtherPrice = livePrice !== null && livePrice !== price
  if (isDearer || isOtherPrice || warnings.includes('price_drift')) return 'drifted'
  if (warnings.includes('foreign_pay_to')) return 'second'
  return status === 'live' ? 'live' : 'unchecked'
}

/** Counts APIs by their state, the worst first. */
export function healthCounts(apis: readonly JudgedApi[]): (Health & { count: number })[] {
  const found = apis.map(healthOf)
  const known = new Map(found.map((health) => [health.kind, health]))
  return (Object.keys(healths) as HealthKind[]).flatMap((kind) => {
    const health = known.get(kind)
    if (health === undefined) return []
    const count = found.filter((it) => it.kind === kind).length
    return [{ ...health, name: count === 1 ? health.name : healths[kind][0], count }]
  })
}
