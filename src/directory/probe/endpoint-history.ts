import { httpCodes } from '@arcus/protocol/answers/errors'
import { type HealthAnswer, healthQuery, type PricesAnswer } from '@arcus/protocol/answers/history'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { currencyOf, signOfCurrency } from '@arcus/protocol/x402/currencies'
import type { FastifyInstance } from 'fastify'
import { DAY_SECONDS } from '../../async/time.js'
import { httpFault, type RequestFault } from '../../http/errors.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { aboutMerchant, presentInPublic } from '../refusals.js'
import {
  type EndpointHistory,
  HISTORY_SECONDS,
  type NotedPrice,
  type ProbeHour,
} from '../store/endpoint-history.js'
import type { CatalogEntry, ListingReader } from '../store/listings.js'

interface HistoryRoutesOptions {
  store: Pick<ListingReader, 'findMerchant' | 'entriesById'>
  history: EndpointHistory
  /** Unix milliseconds. */
  now: () => number
}

const HOUR_SECONDS = 3_600

export const aboutEndpoint: Pick<Operation, 'tag' | 'codes'> = {
  tag: 'Directory',
  codes: [...aboutMerchant.codes, httpCodes.endpoint_not_found],
}

const healthOperation: Operation = {
  ...aboutEndpoint,
  id: 'getEndpointHealth',
  summary: 'Uptime and latency of an endpoint, by the probes of 90 days',
  answers: { 200: 'By hour, oldest first.' },
}

const pricesOperation: Operation = {
  ...aboutEndpoint,
  id: 'getEndpointPrices',
  summary: 'How the price of an endpoint changed, as listed and as its own 402 asked',
  answers: { 200: 'Oldest first.' },
}

export type OfEndpoint = {
  Params: { id: string; endpoint: string }
  Querystring: Record<string, unknown>
}

/** Finds an endpoint of a merchant by their ids. Throws a 404, a 410, or a 403 with the reason of the operator. */
export async function findEndpoint(
  store: HistoryRoutesOptions['store'],
  { id, endpoint }: OfEndpoint['Params'],
): Promise<CatalogEntry> {
  presentInPublic(await store.findMerchant(id))
  const isNumber = /^[1-9][0-9]{0,14}$/.test(endpoint)
  const [entry] = isNumber ? await store.entriesById([Number(endpoint)]) : []
  if (entry?.merchant.id === id) return entry
  throw missingEndpoint()
}

export function missingEndpoint(): RequestFault {
  return httpFault('endpoint_not_found', 'The merchant has no endpoint with this id.')
}

/** Serves `GET /api/merchants/:id/endpoints/:endpoint/health` and `…/prices`. */
export async function historyRoutes(
  app: FastifyInstance,
  { store, history, now }: HistoryRoutesOptions,
): Promise<void> {
  app.get<OfEndpoint>(
    '/api/merchants/:id/endpoints/:endpoint/health',
    describedAs(healthOperation),
    async ({ params, query }, reply) => {
      const { days } = readQuery(healthQuery, query)
      const { endpoint, merchant } = await findEndpoint(store, params)
      const seconds = Math.floor(now() / 1000)
      const hours = await history.probeHours(endpoint.id, seconds - HISTORY_SECONDS)
      const answer: HealthAnswer = {
        merchant: merchant.id,
        endpoint: endpoint.id,
        status: endpoint.status,
        ...summarizeProbes(hours, seconds),
        history: toHistory(hours.filter(({ hour }) => hour >= seconds - days * DAY_SECONDS)),
      }
      return reply.header('cache-control', 'public, max-age=60').send(answer)
    },
  )

  app.get<OfEndpoint>(
    '/api/merchants/:id/endpoints/:endpoint/prices',
    describedAs(pricesOperation),
    async ({ params }, reply) => {
      const { endpoint, merchant } = await findEndpoint(store, params)
      const answer: PricesAnswer = {
        merchant: merchant.id,
        endpoint: endpoint.id,
        prices: toPrices(await history.notedPrices(endpoint.id)),
      }
      return reply.header('cache-control', 'public, max-age=60').send(answer)
    },
  )
}

type Hour = HealthAnswer['history'][number]

/** Returns uptime and latency. A failing endpoint is probed more often, so each hour with a probe counts the same. */
function summarizeProbes(
  rows: readonly ProbeHour[],
  now: number,
): Pick<HealthAnswer, 'uptime' | 'latency'> {
  const hours = toHistory(rows)
  const uptimeOf = (seconds: number) => {
    const within = hours.filter(({ at }) => at > now - seconds - HOUR_SECONDS)
    const up = within.reduce((sum, { live, probes }) => sum + live / probes, 0)
    return {
      probes: within.reduce((sum, { probes }) => sum + probes, 0),
      share: within.length === 0 ? null : Math.round((up / within.length) * 10_000) / 10_000,
    }
  }
  const times = hours.flatMap(({ ms }) => ms ?? []).sort((a, b) => a - b)
  const at = (share: number) => times[Math.ceil(times.length * share) - 1] ?? null
  return {
    uptime: {
      '24h': uptimeOf(DAY_SECONDS),
      '7d': uptimeOf(7 * DAY_SECONDS),
      '30d': uptimeOf(30 * DAY_SECONDS),
      '90d': uptimeOf(90 * DAY_SECONDS),
    },
    latency: { p50Ms: at(0.5), p95Ms: at(0.95) },
  }
}

function toHistory(rows: readonly ProbeHour[]): Hour[] {
  const byHour = new Map<number, ProbeHour[]>()
  for (const row of rows) byHour.set(row.hour, [...(byHour.get(row.hour) ?? []), row])
  return Array.from(byHour, ([at, found]) => {
    const live = found.find(({ verdict }) => verdict === 'live')
    return {
      at,
      probes: found.reduce((sum, { count }) => sum + count, 0),
      live: live?.count ?? 0,
      ms: live === undefined ? null : Math.round(live.ms / live.count),
      verdicts: Object.fromEntries(found.map(({ verdict, count }) => [verdict, count])),
    }
  })
}

/** Returns prices with the change to each, in a sentence. Amounts in different money are not compared. */
function toPrices(noted: readonly NotedPrice[]): PricesAnswer['prices'] {
  const before = new Map<string, NotedPrice>()
  return noted.map((price) => {
    const { source, at, amount, symbol } = price
    const last = before.get(source)
    before.set(source, price)
    const sentence = last === undefined ? null : sentenceOf(last, price)
    return { source, at, amount, symbol, currency: currencyOf(symbol), sentence }
  })
}

function sentenceOf(before: NotedPrice, { source, at, amount, symbol }: NotedPrice): string {
  const isSame = before.symbol === symbol
  const verb = !isSame ? 'Changed' : BigInt(amount) > BigInt(before.amount) ? 'Rose' : 'Fell'
  const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  const where = source === 'listed' ? 'in the signed listing' : 'in its own 402'
  const from = moneyText(before)
  return `${verb} from ${from} to ${moneyText({ amount, symbol })} on ${day.format(at * 1000)}, ${where}.`
}

/** Writes an amount with two decimals at least: `$0.01`, `€9.00`. */
function moneyText({ amount, symbol }: Pick<NotedPrice, 'amount' | 'symbol'>): string {
  const [whole, fraction = ''] = formatAtomic(BigInt(amount)).split('.')
  const decimal = `${whole}.${fraction.padEnd(2, '0')}`
  const sign = signOfCurrency(currencyOf(symbol))
  return sign === undefined ? `${decimal} ${symbol}` : `${sign}${decimal}`
}
