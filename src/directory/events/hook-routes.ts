import { listingLimits } from 'arcus-client/listing'
import type { FastifyInstance } from 'fastify'
import { type HookView, hookRemoved, hookSaved, hooksAnswer } from '../../api/events.js'
import { describedAs } from '../../http/operation.js'
import type { Hook, HookStore } from '../../store/hooks.js'
import { ofOwner } from '../activity/routes.js'
import { answerWithDetails } from '../listings/faults.js'
import { writeOperation } from '../listings/routes.js'
import { type OwnerCheckOptions, requireOwner, type WithId } from '../session/session-routes.js'
import { type HookWrites, hookBody, hookRemoval } from './hook-writes.js'

const id = 'hook_AAAAAAAAAAAAAAAA'

const listOperation = ofOwner('listHooks', 'The webhooks of a merchant and how they fare', {
  200: { description: 'All of them, without their secrets.', schema: hooksAnswer },
})

const setOperation = {
  ...writeOperation('hook.set', 'setHook', 'Make or change a webhook, or let it begin anew', {
    body: hookBody,
    example: {
      ...{ id: null, url: 'https://shop.example.com/arcus', since: null },
      types: ['payment.settled', 'payment.failed'],
    },
  }),
  answers: {
    200: {
      description: 'With the secret of a new one, which is shown this once.',
      schema: hookSaved,
    },
  },
}

const removeOperation = {
  ...writeOperation('hook.delete', 'deleteHook', 'Remove a webhook', {
    body: hookRemoval,
    example: { id },
  }),
  answers: { 200: { description: 'Nothing is delivered any more.', schema: hookRemoved } },
}

interface HookRoutesOptions extends OwnerCheckOptions {
  hooks: Pick<HookStore, 'ofMerchant'>
  writes: HookWrites
}

/** Serves `/api/merchants/{id}/hooks`: read with the session of the owner, written by signed message. */
export async function hookRoutes(app: FastifyInstance, options: HookRoutesOptions): Promise<void> {
  const { hooks, writes } = options
  const path = '/api/merchants/:id/hooks'
  const bodyLimit = listingLimits.request.maxBytes
  answerWithDetails(app)
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })

  app.get<WithId>(path, describedAs(listOperation), async (request) => {
    const merchant = await requireOwner(request, options)
    return { hooks: (await hooks.ofMerchant(merchant.id)).map(toView) }
  })
  app.put<WithId>(path, { bodyLimit, ...describedAs(setOperation) }, ({ params, body, ip }) =>
    writes.set(params.id, body, ip),
  )
  app.delete<WithId>(path, { bodyLimit, ...describedAs(removeOperation) }, ({ params, body }) =>
    writes.remove(params.id, body),
  )
}

function toView(hook: Hook): HookView {
  const { id, url, types, cursor, failures, parked, lastError, isLossy } = hook
  const time = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const isRetrying = failures > 0 ? 'retrying' : 'active'
  return {
    ...{ id, url, types, cursor, failures, lastError, isLossy },
    state: parked === null ? isRetrying : 'parked',
    createdAt: new Date(hook.createdAt).toISOString(),
    deliveredAt: time(hook.deliveredAt),
    nextAt: failures > 0 ? time(hook.nextAt) : null,
  }
}
