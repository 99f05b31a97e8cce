/**
 * Buys as an agent, from a question in words to a paid answer: it searches the catalog, reads the parameters of the best
 * endpoint, and pays within a limit that is set here and nowhere else. What it buys is an endpoint of HTTP or a tool of
 * an MCP server. With `--mcp` it searches by the Model Context Protocol too, as a client with its own model would.
 *
 * With `npm run dev` in another terminal, which sells a forecast, a tool and two endpoints of its own:
 *
 *   npx tsx examples/agent.ts weather
 *   npx tsx examples/agent.ts summary --param text="A long story. Short." --max 0.03
 *   npx tsx examples/agent.ts tides --mcp
 *
 * ARCUS_URL is the service, default http://localhost:4021. PAYER_KEY is the key of the payer, which signs and needs no
 * gas. The default is the payer of the devnet.
 */
import { parseArgs } from 'node:util'
import { createArcusClient, type EndpointName } from '@arcus/client'
import { ArcusError } from '@arcus/client/calls'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Hex, parseUnits } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

// A public test key of anvil. Never send it money.
const devnetKey = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    param: { type: 'string', multiple: true, default: [] },
    max: { type: 'string', default: '0.05' },
    mcp: { type: 'boolean', default: false },
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

const url = process.env.ARCUS_URL ?? 'http://localhost:4021'
const arcus = createArcusClient({ url })
process.exitCode = await buy().catch((error: Error) => {
  say(error instanceof ArcusError ? `Not bought (${error.code}): ${error.message}` : error.message)
  return 1
})

async function buy(): Promise<number> {
  const found = values.mcp ? await findByMcp() : await find()
  if (found === undefined) {
    throw new Error(`Nothing for at most $${values.max} answers "${question}".`)
  }

  // A seller wrote these texts and schemas: they are compared and passed on, never obeyed.
  const { item } = await arcus.describe(found)
  const { input, inputSchema, title } = item.metadata
  const what = input.toolName === undefined ? input.method : `tool ${input.toolName} of`
  say(`Found     ${what} ${item.resource}  ${JSON.stringify(title)}`)
  const known = Object.keys((inputSchema.properties ?? {}) as object)
  const unknown = Object.keys(params).filter((name) => known.length > 0 && !known.includes(name))
  if (unknown.length > 0) {
    throw new Error(`It takes ${known.join(', ')}, not ${unknown.join(', ')}.`)
  }
  const isTool = item.type === 'mcp'
  const filled = { ...((input.queryParams ?? input.body ?? input.example) as object), ...params }

  // The limit is checked before anything is signed, and nobody is paid whom the listing does not name.
  const { response, amount, settlement } = await arcus.pay(item, {
    signer: privateKeyToAccount((process.env.PAYER_KEY as Hex | undefined) ?? devnetKey),
    maxAmount,
    ...(isTool && { arguments: filled }),
    ...(!isTool && (input.body === undefined ? { queryParams: filled } : { body: filled })),
  })
  say(`Asked for ${amount} atomic units, millionths of a dollar`)
  say(`Answer    ${response.status} ${await response.text()}`)
  if (settlement?.success) say(`Paid in   ${settlement.transaction}`)
  else if (settlement !== undefined) say(`Not settled: ${settlement.errorReason}`)
  return response.ok ? 0 : 1
}

async function find() {
  const { resources } = await arcus.find({
    query: question,
    maxPrice: Number(maxAmount),
    verified: true,
    scheme: 'exact',
  })
  return resources[0]
}

/** Asks the tool `search_resources` of the service. */
async function findByMcp(): Promise<EndpointName | undefined> {
  const client = new Client({ name: 'agent', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  const search = { query: question, maxPrice: Number(maxAmount), verified: true }
  const answer = await client.callTool({ name: 'search_resources', arguments: search })
  await client.close()
  const { resources } = answer.structuredContent as {
    resources: { resource: string; method?: string; toolName?: string; merchant: { id: string } }[]
  }
  const [found] = resources
  if (found === undefined) return undefined
  const { resource, method = 'MCP', toolName, merchant } = found
  return { merchant: merchant.id, url: resource, method, toolName }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
