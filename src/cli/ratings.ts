import { cleanText } from '@arcus/protocol/listing/text'
import type { KeptRating } from '../directory/store/ratings.js'
import { CommandError } from './command-line.js'
import { parseReason } from './merchants/commands.js'
import { getMerchant, type OperatorStores, record } from './merchants/operator-stores.js'
import { answering, defineSubcommands } from './merchants/subcommands.js'

/** Ratings of one endpoint that are listed. */
const LISTED = 100

const help = `arcus ratings COMMAND

Hides ratings that are an insult, an advertisement or worse. The reason is public. A running service shows it at once.

  list MERCHANT             the newest 100 of each of its endpoints
  show ID
  hide ID --reason "why"
  unhide ID
  --help                    this text

A blocked payer ("arcus merchants block") rates nothing more.`

export const command = defineSubcommands(help, {
  list: answering(1, (stores, [merchant = '']) => list(stores, merchant)),
  show: answering(1, async (stores, [id = '']) => describe(await getRating(stores, id))),
  hide: answering(1, (stores, [id = ''], { reason }) => hide(stores, id, reason), ['reason']),
  unhide: answering(1, (stores, [id = '']) => unhide(stores, id)),
})

async function hide(stores: OperatorStores, id: string, reason: string | undefined) {
  const hiddenReason = parseReason(reason)
  await getRating(stores, id)
  await record(stores, 'hide rating', id, hiddenReason)
  await stores.ratings.setHidden(id, hiddenReason)
  return `${id} is hidden`
}

async function unhide(stores: OperatorStores, id: string): Promise<string> {
  await getRating(stores, id)
  await record(stores, 'unhide rating', id)
  await stores.ratings.setHidden(id, null)
  return `${id} is shown again`
}

async function list(stores: OperatorStores, merchantId: string): Promise<string> {
  const { network, payTo } = await getMerchant(stores, merchantId)
  const lines: string[] = []
  const seen = new Set<string>()
  for (const { url, toolName = '' } of await stores.listings.endpointsOf(merchantId)) {
    const target = `${url} ${toolName}`
    if (seen.has(target)) continue
    seen.add(target)
    const found = await stores.ratings.list({ network, payTo, url, toolName }, undefined, LISTED)
    lines.push(...found.map(describe))
  }
  return [...lines, `${lines.length} ratings`].join('\n')
}

async function getRating({ ratings }: OperatorStores, id: string): Promise<KeptRating> {
  const found = await ratings.find(id)
  if (found === undefined) throw new CommandError(`There is no rating ${JSON.stringify(id)}.`)
  return found
}

function describe({ id, score, payer, url, message, hiddenReason, answer }: KeptRating): string {
  const { tag, link } = JSON.parse(message)
  const parts = [id, `${score} of 100`, payer, url, tag, link]
  if (answer !== null) parts.push(`answered: ${cleanText(answer.text, 500)}`)
  if (hiddenReason !== null) parts.push(`hidden: ${hiddenReason}`)
  return parts.filter((part) => part !== '').join('  ')
}
