/**
 * Buys as an agent, from a question in words to a paid answer: it searches the catalog by MCP, reads the parameters of the
 * best resource, asks for its current price, and pays within limits that are set here and nowhere else.
 *
 * With `npm run dev` in another terminal, which sells two endpoints of its own:
 *
 *   npx tsx examples/agent.ts fees
 *   npx tsx examples/agent.ts summary --param text="A long story. Short." --max 0.03
 *
 * ARCUS_URL is the service, default http://localhost:4021. PAYER_KEY is the key of the payer, which signs and needs no
 * gas. The default is the payer of the devnet.
 */
import { parseArgs } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { type Hex, parseUnits } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const network = 'eip155:5042'
const asset = '0x3600000000000000000000000000000000000000'
// A public test key of anvil. Never send it money.
const devnetKey = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    param: { type: 'string', multiple: true, default: [] },
    max: { type: 'string', default: '0.05' },
  },
})
const question = positionals.join(' ')
if (!/^\d+(\.\d{1,6})?$/.test(values.max)) {
  say(`--max wants dollars with at most six decimals such as 0.05, not ${values.max}`)
  process.exit(1)
}
const maxAmount = parseUnits(values.max, 6)
// The parameters that a model would fill in. Here the command line does.
const params = Object.fromEntries(values.param.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))

/** The members of the answers that this agent reads. Sellers wrote them: they are compared and passed on, never obeyed. */
interface Resource {
  resource: string
  method: 'GET' | 'POST'
  title: string
  accepts: { scheme: string; network: string; asset: string; amount: string }[]
}
interface Description {
  metadata: {
    input: { queryParams?: Record<string, unknown>; body?: Record<string, unknown> }
    inputSchema: { properties?: Record<string, unknown> }
  }
}

const mcp = new Client({ name: 'arcus-example-agent', version: '1' })
const arcusUrl = process.env.ARCUS_URL ?? 'http://localhost:4021'
process.exitCode = await buy().catch((error: Error) => {
  say(error.message)
  return 1
})
await mcp.close()

async function buy(): Promise<number> {
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', arcusUrl))
  await mcp.connect(transport).catch(({ message }: Error) => {
    throw new Error(`${arcusUrl} does not answer: ${message}`)
  })
  const query = { query: question, maxPrice: Number(maxAmount), verified: true }
  const { resources } = await use<{ resources: Resource[] }>('search_resources', query)
  const chosen = resources.find(({ accepts }) => accepts.some(isPayable))
  if (chosen === undefined)
    throw new Error(`Nothing for at most $${values.max} answers "${question}".`)
  const { resource: url, method } = chosen
  say(`Found     ${method} ${url}  ${JSON.stringify(chosen.title)}`)

  const wanted = { url, method }
  const described = await use<{ resources: [Description] }>('describe_resource', wanted)
  const { input, inputSchema } = described.resources[0].metadata
  const known = Object.keys(inputSchema.properties ?? {})
  const unknown = Object.keys(params).filter((name) => known.length > 0 && !known.includes(name))
  if (unknown.length > 0)
    throw new Error(`It takes ${known.join(', ')}, not ${unknown.join(', ')}.`)
  const filled = { ...(input.queryParams ?? input.body), ...params }

  const asked = method === 'GET' ? { queryParams: filled } : { body: filled }
  const terms = await use<{ isAsListed: boolean; message: string; accepts: Resource['accepts'] }>(
    'get_payment_terms',
    { ...wanted, ...asked },
  )
  if (!terms.isAsListed) throw new Error(`Not paid: ${terms.message}`)
  const price = terms.accepts.find(isPayable)
  if (price === undefined) throw new Error(`Not paid: it costs more than $${values.max} now.`)
  say(`Asks for  ${price.amount} atomic units, millionths of a dollar`)

  return pay(url, method, filled, price.amount)
}

/** Pays with a limit in the client: a 402 that asks for more than a moment ago is refused before anything is signed. */
async function pay(
  url: string,
  method: string,
  filled: Record<string, unknown>,
  maxAmountPerPayment: string,
): Promise<number> {
  const account = privateKeyToAccount((process.env.PAYER_KEY as Hex | undefined) ?? devnetKey)
  const client = x402Client.fromConfig({
    schemes: [{ network, client: new ExactEvmScheme(account) }],
    spendControls: {
      allowedAssets: [{ network, asset, maxAmountPerPayment }],
    },
  })
  const fetchPaid = wrapFetchWithPayment(fetch, client)
  const target = new URL(url)
  if (method === 'GET') {
    for (const [name, value] of Object.entries(filled)) target.searchParams.set(name, String(value))
  }
  const body = { 'content-type': 'application/json' }
  const response = await fetchPaid(
    target,
    method === 'GET' ? {} : { method, headers: body, body: JSON.stringify(filled) },
  )
  say(`Answer    ${response.status} ${await response.text()}`)
  const settlement = response.headers.get('PAYMENT-RESPONSE')
  if (settlement !== null) {
    const { success, transaction, errorReason } = decodePaymentResponseHeader(settlement)
    say(success ? `Paid in   ${transaction}` : `Not settled: ${errorReason}`)
  }
  return response.ok ? 0 : 1
}

function isPayable(offer: Resource['accepts'][number]): boolean {
  return (
    offer.scheme === 'exact' &&
    offer.network === network &&
    offer.asset.toLowerCase() === asset &&
    BigInt(offer.amount) <= maxAmount
  )
}

async function use<Answer>(name: string, input: Record<string, unknown>): Promise<Answer> {
  const { isError, content, structuredContent } = await mcp.callTool({ name, arguments: input })
  if (isError !== true) return structuredContent as Answer
  const [{ text = 'no reason given' } = {}] = content as { text?: string }[]
  throw new Error(`${name}: ${text}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
