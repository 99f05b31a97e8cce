import { z } from 'zod'
import { listingBody } from '../listing/listing.js'
import { paymentRequestSchema } from '../x402/request-schemas.js'
import * as activity from './activity.js'
import { exploreAnswer } from './activity.js'
import * as discovery from './discovery.js'
import * as events from './events.js'
import { address } from './fields.js'
import * as history from './history.js'
import * as listings from './listings.js'
import * as merchants from './merchants.js'
import * as checks from './paid-checks.js'
import * as payments from './payments.js'
import * as service from './service.js'
import * as session from './session.js'
import { tryAnswer, tryBody } from './try.js'
import * as writes from './writes.js'

/** The forms of a route: what it takes, and what it answers when it succeeds. */
export interface RouteForms {
  /** Parameters of the path, each required. */
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  /** JSON. It may be left out where the schema takes `undefined`. */
  body?: z.ZodType
  /** The schema of JSON, or the media type of a text. Absent where there is no body. */
  answer?: z.ZodType | `${'text' | 'image'}/${string}`
}

const { ofMerchant, ofEndpoint } = merchants
const onePayment = { params: payments.paymentParams, query: payments.whichQuery }
const listing = { params: ofMerchant, answer: listings.merchantView }

/** Every public route. The service is described by this table, and `@arcus/client` takes its types from it. */
export const routes = {
  'GET /supported': { answer: payments.supportedAnswer },
  'POST /verify': { body: paymentRequestSchema, answer: payments.verifyAnswer },
  'POST /settle': {
    headers: payments.settleHeaders,
    body: paymentRequestSchema,
    answer: payments.settleAnswer,
  },
  'GET /payments/{network}/{payer}/{nonce}': { ...onePayment, answer: payments.paymentStatus },
  'GET /payments/{network}/{payer}/{nonce}/attestation': {
    ...onePayment,
    answer: payments.attestationAnswer,
  },
  'GET /payments/{network}/{payer}/{nonce}/receipt': {
    ...onePayment,
    answer: payments.receiptAnswer,
  },
  'GET /payments/{transaction}': {
    params: payments.transactionParams,
    answer: payments.transactionAnswer,
  },
  'GET /payments/status/{paymentId}': {
    params: payments.statusParams,
    answer: payments.statusAnswer,
  },

  'GET /discovery/resources': { query: discovery.listQuery, answer: discovery.resourcesAnswer },
  'GET /discovery/search': { query: discovery.rankedQuery, answer: discovery.searchAnswer },
  'GET /discovery/changes': { query: discovery.changesQuery, answer: discovery.changesAnswer },
  'GET /discovery/status': { query: discovery.statusQuery, answer: discovery.statusAnswer },
  'POST /discovery/validate': { body: discovery.validateBody, answer: discovery.validation },
  'GET /api/endpoints': { query: discovery.browseQuery, answer: discovery.browseAnswer },

  'GET /api/merchants': { query: merchants.catalogQuery, answer: merchants.catalogAnswer },
  'GET /api/owners/{address}/merchants': {
    params: z.object({ address }),
    answer: listings.ownedAnswer,
  },
  'GET /api/payees/{address}': { params: z.object({ address }), answer: merchants.payeeAnswer },
  'GET /api/signing': { answer: listings.signingAnswer },
  'GET /api/merchants/{id}': listing,
  'PUT /api/merchants/{id}': { ...listing, body: writes.writeOf(listingBody) },
  'DELETE /api/merchants/{id}': { ...listing, body: writes.writeOf(writes.emptyBody) },
  'POST /api/merchants/{id}/owner-offer': { ...listing, body: writes.writeOf(writes.offerBody) },
  'POST /api/merchants/{id}/owner-acceptance': {
    ...listing,
    body: writes.writeOf(writes.emptyBody),
  },
  'POST /api/merchants/{id}/payto-confirmation': {
    ...listing,
    body: writes.writeOf(writes.confirmationBody),
  },
  'PUT /api/merchants/{id}/agent': { ...listing, body: writes.writeOf(writes.linkBody) },
  'GET /api/merchants/{id}/history': {
    params: ofMerchant,
    query: listings.historyQuery,
    answer: listings.historyAnswer,
  },
  'GET /api/merchants/{id}/openapi.json': { params: ofMerchant, answer: merchants.openApiAnswer },
  'GET /api/merchants/{id}/llms.txt': { params: ofMerchant, answer: 'text/markdown' },
  'GET /badge/{merchant}.svg': { params: merchants.badgeParams, answer: 'image/svg+xml' },

  'POST /api/merchants/{id}/probe': {
    params: ofMerchant,
    body: listings.probeBody.optional(),
    answer: listings.probeAnswer,
  },
  'GET /api/merchants/{id}/endpoints/{endpoint}/health': {
    params: ofEndpoint,
    query: history.healthQuery,
    answer: history.healthAnswer,
  },
  'GET /api/merchants/{id}/endpoints/{endpoint}/prices': {
    params: ofEndpoint,
    answer: history.pricesAnswer,
  },
  'GET /api/merchants/{id}/endpoints/{endpoint}/checks': {
    params: ofEndpoint,
    answer: checks.checksAnswer,
  },
  'POST /api/merchants/{id}/check-request': {
    params: ofMerchant,
    body: writes.writeOf(writes.checkBody),
    answer: checks.checkRequested,
  },
  'POST /api/try': { body: tryBody, answer: tryAnswer },

  'GET /api/merchants/{id}/activity': {
    params: ofMerchant,
    query: activity.summaryQuery,
    answer: activity.activityAnswer,
  },
  'GET /api/merchants/{id}/activity/breakdown': {
    params: ofMerchant,
    query: activity.summaryQuery,
    answer: activity.activityBreakdown,
  },
  'GET /api/merchants/{id}/activity/table': {
    params: ofMerchant,
    query: activity.tableQuery,
    answer: activity.activityTable,
  },
  'GET /api/merchants/{id}/activity.csv': {
    params: ofMerchant,
    query: activity.exportQuery,
    answer: 'text/csv',
  },
  'GET /api/merchants/{id}/stats': { params: ofMerchant, answer: activity.statsAnswer },
  'GET /api/stats': { answer: activity.statsAnswer },
  'GET /api/explore': { answer: exploreAnswer },
  'GET /api/payments': { query: activity.paymentsQuery, answer: activity.paymentsAnswer },
  'GET /api/payments.csv': { query: activity.paymentsExportQuery, answer: 'text/csv' },
  'GET /api/settlements/stream': { answer: 'text/event-stream' },
  'GET /api/merchants/{id}/events': {
    params: ofMerchant,
    query: events.eventsQuery,
    answer: events.eventsAnswer,
  },
  'GET /api/merchants/{id}/hooks': { params: ofMerchant, answer: events.hooksAnswer },
  'PUT /api/merchants/{id}/hooks': {
    params: ofMerchant,
    body: writes.writeOf(writes.hookBody),
    answer: events.hookSaved,
  },
  'DELETE /api/merchants/{id}/hooks': {
    params: ofMerchant,
    body: writes.writeOf(writes.hookRemoval),
    answer: events.hookRemoved,
  },
  'POST /api/merchants/{id}/hooks/check': {
    params: ofMerchant,
    body: writes.hookTargetBody,
    answer: events.hookTarget,
  },
  'POST /api/merchants/{id}/hooks/test': {
    params: ofMerchant,
    body: writes.hookRemoval,
    answer: events.hookTested,
  },

  'GET /api/session/nonce': { answer: session.nonceAnswer },
  'POST /api/session': { body: session.signInBody, answer: session.sessionAnswer },
  'GET /api/session': { answer: session.sessionAnswer },
  'DELETE /api/session': {},

  'GET /.well-known/x402': { answer: service.facilitatorAnswer },
  'GET /openapi.json': { answer: service.openApiDocument },
  'GET /docs': { answer: 'text/html' },
  'GET /health': { answer: service.healthAnswer },
  'GET /ready': { answer: service.readinessAnswer },
  'GET /ready/details': { answer: service.facilitatorStatusAnswer },
  'GET /api/console': { answer: service.consoleAnswer },
  'GET /api/status': { answer: service.statusAnswer },
  'GET /metrics': { answer: 'text/plain' },
} as const satisfies Readonly<Record<string, RouteForms>>

export type Routes = typeof routes
