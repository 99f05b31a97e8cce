import type { Endpoint, Merchant } from '../../store/listings.js'
import { isUnclaimed } from '../../store/ownership.js'
import { formatAtomic } from '../../x402/amounts.js'
import { type Desk, everyMerchant, getMerchant } from './desk.js'

/** One line a merchant, and their number. */
export async function* listMerchants(desk: Desk): AsyncGenerator<string> {
  let count = 0
  for await (const { merchant, endpointCount } of everyMerchant(desk)) {
    count++
    const endpoints = `${endpointCount} ${endpointCount === 1 ? 'endpoint' : 'endpoints'}`
    const words = [merchant.id, endpoints, ...marksOf(merchant), merchant.name]
    yield words.join('  ')
  }
  yield `${count} ${count === 1 ? 'merchant' : 'merchants'}`
}

/** All that is kept of one merchant and its endpoints. */
export async function showMerchant(desk: Desk, id: string): Promise<string> {
  const merchant = await getMerchant(desk, id)
  const endpoints = await desk.store.endpointsOf(id)
  const { identity } = merchant
  const facts = [
    ['name', merchant.name],
    ['marks', marksOf(merchant).join(', ') || 'none'],
    ['owner', merchant.owner ?? (isUnclaimed(merchant) ? 'nobody yet' : 'the operator')],
    ['payTo', merchant.payTo],
    ['network', merchant.network],
    ['asset', merchant.asset],
    ['revision', String(merchant.revision)],
    ['agent', merchant.agentId ?? 'none'],
    ['agent checks', identity === null ? 'none' : checksOf(identity.checks)],
    ['created', dateOf(merchant.createdAt)],
    ['updated', dateOf(merchant.updatedAt)],
  ]
  const lines = facts.map(([name, value]) => `  ${name?.padEnd(14)}${value}`)
  return [merchant.id, ...lines, '', ...endpoints.flatMap(describeEndpoint)].join('\n')
}

function describeEndpoint(endpoint: Endpoint): string[] {
  const { method, url, pricing, price, status, probe, nextProbeAt, isHosted } = endpoint
  const ceiling = pricing === 'metered' ? 'up to ' : ''
  const hosted = isHosted ? ', hosted by Arcus' : ''
  const seen = probe === null ? 'never looked at' : `${probe.verdict} on ${dateOf(probe.checkedAt)}`
  const next = nextProbeAt === null ? '' : `, next look ${dateOf(nextProbeAt)}`
  return [
    `  ${method} ${url}`,
    `    ${endpoint.title}: ${ceiling}${formatAtomic(price)} USD, ${status}${hosted} (${seen}${next})`,
  ]
}

function marksOf(merchant: Merchant): string[] {
  const { isOfficial, isPartner, hiddenReason, deletedAt } = merchant
  return [
    ...(deletedAt === null ? [] : ['deleted']),
    ...(isUnclaimed(merchant) ? ['unclaimed'] : []),
    ...(isOfficial ? ['official'] : []),
    ...(isPartner ? ['partner'] : []),
    ...(hiddenReason === null ? [] : [`hidden: ${JSON.stringify(hiddenReason)}`]),
  ]
}

function checksOf(checks: NonNullable<Merchant['identity']>['checks']): string {
  return Object.entries(checks)
    .map(([name, { passed }]) => `${name} ${passed ? 'passed' : 'failed'}`)
    .join(', ')
}

function dateOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
