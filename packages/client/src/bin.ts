#!/usr/bin/env node
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { isObject, memberOf } from '@arcus/protocol/x402/json'
import type { Address } from 'viem'
import { type ReadBody, readUpTo } from './body.js'
import { showAmount, withMoney } from './budget.js'
import { type Bought, type BuyerCall, isChargedInVain, type Quote } from './buyer.js'
import { ArcusError } from './calls.js'
import type { ChannelStatus } from './channels.js'
import { createArcusClient } from './client.js'
import {
  agentMoney,
  buyerOf,
  type CommandArguments,
  clean,
  limitsOf,
  moneyOf,
  readAccount,
  readArguments,
  readText,
  serviceUrl,
  toJson,
  UsageError,
} from './command-options.js'
import { helpOf } from './help.js'
import { listingFromOpenApi } from './open-api.js'
import { readAsset } from './pay.js'
import type { Item } from './sellers.js'
import { CHANNEL } from './terms.js'
import { describeWallet, readWallet, shortageOf } from './wallet.js'

/** Bytes of an answer that are shown, and that JSON holds. */
const MAX_BODY_BYTES = 8 * 1_024 * 1_024
/** Bytes of an answer that are passed on: what is small on the wire may never end once it is decompressed. */
const MAX_PIPED_BYTES = 1_024 ** 3

const commands: Record<string, (given: CommandArguments) => Promise<number>> = {
  pay,
  find,
  ledger,
  channels,
  import: importApi,
  wallet,
  mcp,
}

async function pay(given: CommandArguments): Promise<number> {
  const [target] = given.words
  if (target === undefined) throw new UsageError('Name the URL to call.')
  if (!/^https?:\/\//i.test(target)) {
    throw new UsageError(`${target} is no URL: it begins with http:// or https://.`)
  }
  const isDry = given['dry-run']
  const buyer = buyerOf(given, limitsOf(given, isDry ? [] : ['max']), !isDry)
  const call = callOf(given)
  if (isDry) return showQuote(given, await buyer.quote(target, call))
  return showBought(given, await buyer.pay(target, call))
}

/** Shows what was bought: cost and transaction first, because the answer may break off or never end. */
async function showBought(given: CommandArguments, bought: Bought): Promise<number> {
  const { response, cost, isDecided, transaction, payment, refusal, left, channel } = bought
  const { status } = response
  const inVain = isChargedInVain(bought)
  note(`${status}, ${money(given, cost)}${isDecided ? '' : ', undecided'}`)
  if (inVain) note('charged, although the call failed')
  if (transaction !== undefined) note(`transaction ${clean(transaction)}`)
  if (refusal !== undefined) note(`refused: ${clean(refusal)}`)
  const shortage = shortageOf(bought)
  if (shortage !== undefined) note(shortage)
  if (channel !== undefined) note(channelLine(given, channel))
  note(`left today ${money(given, left.perDay)}`)
  if (given.json) {
    const { bytes, cut } = await readUpTo(response, MAX_BODY_BYTES)
    const charged = inVain ? { note: 'charged, although the call failed' } : {}
    const paid = { cost, isDecided, transaction, payment, refusal, left, channel, ...charged }
    print(json(given, { status, ...paid, body: Buffer.from(bytes).toString(), cut }))
    return response.ok && cut === undefined ? 0 : 1
  }
  const cut = process.stdout.isTTY ? await showText(response) : await pipe(response)
  if (cut === 'broken') note('The connection ended before the answer did.')
  if (cut === 'long') note('The answer goes on: this is its beginning.')
  return response.ok && cut === undefined ? 0 : 1
}

async function showText(response: Response): Promise<ReadBody['cut']> {
  const { bytes, cut } = await readUpTo(response, MAX_BODY_BYTES)
  process.stdout.write(`${cleanLines(Buffer.from(bytes).toString())}\n`)
  return cut
}

/** Passes the answer on byte by byte to a file or a program, which may take more than is held in memory. */
async function pipe({ body }: Response): Promise<ReadBody['cut']> {
  if (body === null) return undefined
  let passed = 0
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      const room = MAX_PIPED_BYTES - passed
      passed += chunk.byteLength
      await new Promise<unknown>((resolve) =>
        process.stdout.write(chunk.subarray(0, room), resolve),
      )
      if (passed > MAX_PIPED_BYTES) return 'long'
    }
  } catch {
    return 'broken'
  }
  return undefined
}

function callOf(given: CommandArguments): BuyerCall {
  const { method, query, body, tool, price } = given
  const pairs = query.map((pair) => {
    const [name = '', value] = pair.split(/=(.*)/s)
    if (value === undefined) throw new UsageError(`--query wants NAME=VALUE, not "${pair}".`)
    return [name, value] as const
  })
  const parsed = body === undefined ? undefined : parseJson('--body', body)
  return {
    ...(method !== undefined && { method }),
    ...(price !== undefined && { maxAmount: moneyOf(given, 'price', price) }),
    ...(pairs.length > 0 && { queryParams: Object.fromEntries(pairs) }),
    ...(tool !== undefined && { toolName: tool, arguments: isObject(parsed) ? parsed : {} }),
    ...(tool === undefined && parsed !== undefined && { body: parsed }),
  }
}

/** Shows price, seller, proof and record of delivery. */
function showQuote(given: CommandArguments, { terms, item, delivery, refusal }: Quote): number {
  const merchant = item?.metadata.merchant
  const known = refusal && {
    code: refusal.code,
    message: refusal.message,
    details: refusal.details,
  }
  if (given.json) {
    const seller = merchant && { ...merchant, title: item.metadata.title, status: item.status }
    print(json(given, { terms: terms ?? null, seller: seller ?? null, delivery, refusal: known }))
  } else if (terms === undefined) {
    print('price      nothing is asked for')
  } else {
    print(`price      ${showAmount(BigInt(terms.amount), terms)} by ${terms.scheme}`)
    if (terms.scheme === CHANNEL) print(`channel    ${given.channel}, unless one is open already`)
    print(`pays       ${terms.payTo} on ${terms.network}`)
    print(
      `seller     ${merchant ? `${clean(merchant.name)} (${merchant.id})` : 'not in the catalog'}`,
    )
    print(`proof      ${merchant?.payToProof ?? 'none that the address stands behind the seller'}`)
    print(
      `delivery   ${delivery === undefined ? 'no paid check is known' : clean(toJson(delivery))}`,
    )
    print(`limits     ${refusal === undefined ? 'allow it' : refusal.message}`)
  }
  return refusal === undefined ? 0 : 1
}

async function find(given: CommandArguments): Promise<number> {
  const query = given.words.join(' ')
  if (query === '') throw new UsageError('Say what to look for.')
  const found = await createArcusClient({ url: serviceUrl(given) }).find(query)
  if (given.json) print(json(given, found.resources))
  else for (const item of found.resources) print(describeLine(item))
  if (found.resources.length === 0) note('Nothing was found.')
  return found.resources.length === 0 ? 1 : 0
}

function describeLine({ resource, metadata }: Item): string {
  const { title, merchant, input, price, symbol } = metadata
  const what = input.toolName === undefined ? (input.method ?? '') : `tool ${input.toolName} of`
  const proof = merchant.payToProof === null ? ', unproven' : ''
  const cost = `${formatAtomic(BigInt(price))} ${symbol}`
  return `${cost}  ${clean(title)}, by ${clean(merchant.name)}${proof}\n    ${clean(`${what} ${resource}`)}`
}

async function ledger(given: CommandArguments): Promise<number> {
  const buyer = buyerOf(given, limitsOf(given, []), false)
  const { left, entries, channels } = await buyer.spent()
  if (given.json) {
    print(json(given, { left, entries, channels }))
    return 0
  }
  for (const entry of entries) {
    const { at, spent, returned, state, host, transaction = '' } = entry
    const back = returned === undefined ? '' : `, returned ${showAmount(returned, entry)}`
    print(
      `${new Date(at).toISOString()}  ${showAmount(spent, entry)}  ${state}${back}  ${host}  ${transaction}`,
    )
  }
  for (const channel of channels) print(channelLine(given, channel))
  print(`left today ${money(given, left.perDay)}`)
  if (left.total !== undefined) print(`left in all ${money(given, left.total)}`)
  return 0
}

/** Lists the open channels, or closes them. */
async function channels(given: CommandArguments): Promise<number> {
  const [what] = given.words
  const isClosing = what === 'close'
  if (what !== undefined && !isClosing) throw new UsageError(`There is no channels ${what}.`)
  const buyer = buyerOf(given, limitsOf(given, []), isClosing)
  const found = isClosing ? await buyer.closeChannels() : (await buyer.spent()).channels
  if (given.json) print(json(given, { channels: found }))
  else for (const channel of found) print(channelLine(given, channel))
  if (found.length === 0) note('No channel is open.')
  return found.some(({ problem }) => problem !== undefined) ? 1 : 0
}

function channelLine(given: CommandArguments, channel: ChannelStatus): string {
  const { deposit, left, calls, host, channelId, state, problem } = channel
  const held = `${money(given, left)} of ${money(given, deposit)}`
  return `channel    ${held} left, ${calls} calls, ${host}, ${clean(problem ?? state)}, ${channelId}`
}

/** Lists the API that an OpenAPI document describes. */
async function importApi(given: CommandArguments): Promise<number> {
  const [path] = given.words
  const { id, price, server } = given
  if (path === undefined || id === undefined || price === undefined) {
    throw new UsageError('Name the document, --id of the listing and --price of a call.')
  }
  if (!/^\d{1,12}(\.\d{1,6})?$/.test(price)) throw new UsageError('--price wants one such as 0.01.')
  const [whole = '', fraction = ''] = price.split('.')
  const account = readAccount(given)
  const { listing, skipped } = listingFromOpenApi(parseJson(path, readText(path)), {
    payTo: (given['pay-to'] as Address | undefined) ?? account.address,
    price: `${BigInt(whole + fraction.padEnd(6, '0'))}`,
    ...(server !== undefined && { server }),
  })
  for (const { what, why } of skipped) note(`left out: ${clean(what)}. ${why}`)
  if (given['dry-run']) {
    print(toJson(listing))
    return 0
  }
  const url = serviceUrl(given)
  const saved = await createArcusClient({ url }).listings(account).save(id, listing)
  if (given.json) print(toJson(saved))
  else print(`${id} is listed with ${saved.endpoints.length} endpoints at ${url}/merchants/${id}`)
  return 0
}

async function mcp(given: CommandArguments): Promise<number> {
  const limits = limitsOf({ sellers: 'proven', ...given }, ['max', 'per-day', 'per-seller'])
  const buyer = buyerOf(given, limits, true)
  const arcus = createArcusClient({ url: serviceUrl(given) })
  const { serveMcp } = await import('./mcp-server.js')
  await serveMcp({
    arcus,
    buyer,
    show: (amount) => money(given, amount),
    readAmount: (words) => agentMoney(given, words),
  })
  return 0
}

/** Shows the wallet that pays. */
async function wallet(given: CommandArguments): Promise<number> {
  const state = await readWallet(given)
  print(given.json ? toJson(state) : describeWallet(state))
  return state.balance === null ? 1 : 0
}

function money(given: CommandArguments, amount: bigint): string {
  return showAmount(amount, assetOf(given))
}

function assetOf({ network, asset }: CommandArguments) {
  return readAsset({ network, asset } as Parameters<typeof readAsset>[0])
}

/** Writes an answer as JSON. Each amount stands there as the text shows it, and in atomic units. */
function json(given: CommandArguments, answer: unknown): string {
  return toJson(withMoney(answer, assetOf(given)))
}

function parseJson(name: string, json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new UsageError(`${name} is no JSON.`)
  }
}

function cleanLines(words: string): string {
  return words.split('\n').map(clean).join('\n')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function run(): Promise<number> {
  const args = process.argv.slice(2)
  let given: CommandArguments | undefined
  try {
    given = readArguments(args)
    const command = commands[given.command ?? '']
    if (given.help || given.command === undefined) {
      print(helpOf(given.command))
      return given.help ? 0 : 2
    }
    if (command !== undefined) return await command(given)
    throw new UsageError(`There is no command ${given.command}: try --help.`)
  } catch (error) {
    const { message } = error as Error
    const code = error instanceof ArcusError ? error.code : memberOf(error, 'code')
    const details = error instanceof ArcusError ? error.details : undefined
    if (args.includes('--json')) {
      const said = { error: code ?? 'failed', message, details }
      // Without facts there is no amount, and the token itself may be what is wrong.
      print(given === undefined || details === undefined ? toJson(said) : json(given, said))
    } else note(message)
    return error instanceof UsageError ? 2 : 1
  }
}

process.exitCode = await run()
