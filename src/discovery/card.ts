import type { CatalogEntry, Merchant } from '../store/listings.js'
import { isUnclaimed } from '../store/unclaimed.js'
import { formatAtomic } from '../x402/amounts.js'

/** An endpoint as the console shows it in a list: what is listed, and how it stands. Seconds, atomic units. */
export function toCard({ endpoint, merchant }: CatalogEntry) {
  const { id, url, method, title, description, tags, pricing, price } = endpoint
  const { status, probe, isHosted, inputSchema, lastUpdated } = endpoint
  return {
    id,
    url,
    method,
    title,
    description,
    tags,
    pricing,
    price: price.toString(),
    priceUsd: formatAtomic(price),
    hosted: isHosted,
    hasSchema: inputSchema !== null,
    status,
    probe: probe === null ? null : { verdict: probe.verdict, checkedAt: probe.checkedAt },
    lastUpdated,
    merchant: {
      id: merchant.id,
      name: merchant.name,
      official: merchant.isOfficial,
      partner: merchant.isPartner,
      unclaimed: isUnclaimed(merchant),
      identity: tellIdentity(merchant),
    },
  }
}

/** All four checks, and not only the first: people are shown which of them hold. */
function tellIdentity({ agentId, identity }: Merchant) {
  if (identity === null || identity.agentId !== agentId) return null
  const { control, pay, file, domain } = identity.checks
  return {
    agentId,
    checks: {
      control: control.passed,
      pay: pay.passed,
      file: file.passed,
      domain: domain.passed,
    },
  }
}
