import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { startServer } from './a-server.js'

/** A delivery as it came. */
export interface Delivery {
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: events are what the tests look into
  event: any
  /** The status it was answered with. */
  status: number
}

/** Returns the answer to a challenge that agrees to what is sent. */
export const agreeing = ({ event }: Delivery) => ({ status: 200, body: event.challenge as string })

/**
 * A receiver of webhooks; `answer` gives the status for each delivery. It agrees to what is sent unless `consent` says
 * otherwise; challenges are not among the deliveries.
 */
export async function startReceiver(answer: (delivery: Delivery) => number = () => 204) {
  const deliveries: Delivery[] = []
  const challenges: Delivery[] = []
  type Consent = { status: number; body: string }
  const consent: (delivery: Delivery) => Consent | Promise<Consent> = agreeing
  const receiver = { answer, deliveries, challenges, consent }
  const server = await startServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const text = Buffer.concat(parts).toString()
    const delivery = { headers: request.headers, text, event: JSON.parse(text), status: 0 }
    if (delivery.event.type === 'challenge') {
      const { status, body } = await receiver.consent(delivery)
      challenges.push({ ...delivery, status })
      response.writeHead(status).end(body)
      return
    }
    delivery.status = receiver.answer(delivery)
    deliveries.push(delivery)
    response.writeHead(delivery.status, { location: '/elsewhere' }).end()
  })
  return Object.assign(receiver, {
    url: `${server.url}/arcus`,
    /** The ids of the events that were taken, in order, with repeats. */
    taken: () => deliveries.filter(({ status }) => status < 300).map(({ event }) => event.id),
    close: server.close,
  })
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

const TOLERANCE_SECONDS = 300

/** Verifies a delivery by the specification of Standard Webhooks, version 1. Returns why it is refused. */
export function refusalOf(
  { headers, text }: Pick<Delivery, 'headers' | 'text'>,
  secret: string,
  nowSeconds = Math.floor(Date.now() / 1_000),
): string | undefined {
  const id = String(headers['webhook-id'])
  const timestamp = String(headers['webhook-timestamp'])
  if (!secret.startsWith('whsec_')) return 'the secret has no prefix'
  if (id.includes('.') || id === '') return 'the id has a full stop'
  if (!/^[0-9]+$/.test(timestamp)) return 'the timestamp is no number'
  if (Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS) return 'it is too old'
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  if (key.length < 24 || key.length > 64) return 'the secret is too short or too long'
  const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest()
  const signatures = String(headers['webhook-signature']).split(' ')
  const isSigned = signatures.some((signature) => {
    const [version, digest = ''] = signature.split(',')
    const given = Buffer.from(digest, 'base64')
    return version === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
  return isSigned ? undefined : 'no signature is right'
}
