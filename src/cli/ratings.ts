import { cleanText } from 'arcus-client/text'
import type { KeptRating } from '../store/ratings.js'
import { print, UsageError } from './command-line.js'
import { parseReason } from './merchants/commands.js'
import {
  getMerchant,
  type OperatorStores,
  record,
  withStores,
} from './merchants/operator-stores.js'
import { CommandError, runCommand } from './operator-command.js'

/** Ratings of one endpoint that are listed. */
const LISTED = 100

const help = `Hides ratings that are an insult, an advertisement or worse. The reason is public. A running service shows it at once.

  npm run ratings -- list MERCHANT             the newest 100 of each of its endpoints
  npm run ratings -- show ID
  npm run ratings -- hide ID --reason "why"
  npm run ratings -- unhide ID

Settings are read as the service reads them, from .env too. npm run audit shows who hid what. A blocked payer
(npm run blocks) rates nothing more.`

const config = { allowPositionals: true, options: { reason: { type: 'string' } } } as const

process.exitCode = await runCommand(help, config, async ({ positionals, values }) => {
  const [verb, id, ...more] = positionals
  if (verb === undefined) return print(help)
  if (id === undefined || more.length > 0) throw new UsageError(`Name one ID.\n\n${help}`)
  print(await withStores((stores) => run(stores, verb, id, values.reason)))
})

async function run(
  stores: OperatorStores,
  verb: string,
  id: string,
  reason: string | undefined,
): Promise<string> {
  const { ratings } = stores
  if (verb === 'list') return list(stores, id)
  if (verb === 'show') return describe(await getRating(stores, id))
  if (verb === 'hide') {
    const hiddenReason = parseReason(reason)
    await getRating(stores, id)
    await record(stores, 'hide rating', id, hiddenReason)
    await ratings.setHidden(id, hiddenReason)
    return `${id} is hidden`
  }
  if (verb === 'unhide') {
    await getRating(stores, id)
    await record(stores, 'unhide rating', id)
    await ratings.setHidden(id, null)
    return `${id} is shown again`
  }
  throw new UsageError(`There is no command ${JSON.stringify(verb)}.\n\n${help}`)
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
