import { listingLimits } from './listing-limits.js'

const chosen = new RegExp(listingLimits.merchantId.pattern)

/** The id of what was found in payments to an address; nobody chooses such an id, its payTo's key claims it. */
const found = /^payto-0x[0-9a-f]{40}$/

/** Words that are, or may become, a path beside `/api/merchants/{id}`, or that pass for the service itself. */
const reserved = new Set([
  'activity',
  'admin',
  'agent',
  'agents',
  'all',
  'api',
  'arc',
  'arcus',
  'catalog',
  'changes',
  'claim',
  'console',
  'constructor',
  'directory',
  'discovery',
  'endpoints',
  'facilitator',
  'health',
  'history',
  'identity',
  'llms',
  'login',
  'logout',
  'mcp',
  'merchant',
  'merchants',
  'metrics',
  'new',
  'null',
  'official',
  'openapi',
  'operator',
  'owner',
  'owner-acceptance',
  'owner-offer',
  'owners',
  'partner',
  'payments',
  'payto',
  'payto-confirmation',
  'probe',
  'prototype',
  'search',
  'session',
  'settle',
  'signing',
  'siwe',
  'stats',
  'status',
  'stream',
  'supported',
  'table',
  'tools',
  'totals',
  'undefined',
  'unclaimed',
  'validate',
  'verify',
])

export type MerchantIdKind = 'chosen' | 'found' | 'reserved' | 'malformed'

/** What may be done with an id: `chosen` is free to take, `found` exists or does not. */
export function merchantIdKind(id: string): MerchantIdKind {
  if (found.test(id)) return 'found'
  if (!chosen.test(id)) return 'malformed'
  return reserved.has(id) || id.startsWith('payto-') ? 'reserved' : 'chosen'
}
