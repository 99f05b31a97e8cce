/**
 * Lists a paid API in an Arcus directory from a terminal.
 *
 * The directory calls the URL once, without payment. The URL must answer 402 and ask for the token of the price, paid to
 * the address of the listing. Then the listing is live. Another run with the same id and key replaces the listing.
 *
 * With `npm run dev` in another terminal, this lists its sample API as the devnet's merchant (a public test key of anvil):
 *
 *   OWNER_KEY=0x... npx tsx examples/list-endpoint.ts \
 *     --id penny-quotes --name "Penny quotes" --url http://localhost:4022/quote \
 *     --title "A quote" --price 0.01 --pay-to 0x...
 *
 * `npm run dev` prints the merchant's address. Its directory calls local addresses; another one does only when it is
 * started with PROBE_ALLOW_PRIVATE_HOSTS=true.
 */
import { parseArgs } from 'node:util'
import { createArcusClient } from '@arcus/client'
import { ArcusError } from '@arcus/client/calls'
import type { Listing, ListingEndpoint } from '@arcus/protocol/listing/listing'
import { type Address, type Hex, isAddress, isHex, parseUnits } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const usage = `OWNER_KEY=0x... npx tsx examples/list-endpoint.ts OPTIONS

  --id ID              merchant id: 3 to 40 of a-z, 0-9 and hyphens
  --name TEXT          name of the merchant
  --url URL            the paid endpoint
  --title TEXT         what the endpoint gives
  --price AMOUNT       as 0.01, at most six decimals
  --currency CODE      of the price, as EUR; default the directory's own, which is dollars
  --pay-to ADDRESS     the address that is paid, default the signer's own
  --about TEXT         description of the merchant
  --method METHOD      GET (default), HEAD, POST, PUT, PATCH, DELETE, or MCP for a tool of an MCP server
  --tool NAME          the tool, with MCP
  --example JSON       example parameters, body or arguments: {"city":"Lisbon"}
  --schema JSON        JSON Schema of the parameters
  --metered            the price is a ceiling
  --directory URL      default http://localhost:4021

OWNER_KEY is the key of the listing's owner. It only signs: it is not sent, and needs no funds.`

process.exitCode = await main()

async function main(): Promise<number> {
  const options = readOptions()
  if (options.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const { directoryUrl, key, id, listing } = readRequest(options)
  const signer = privateKeyToAccount(key)
  const client = createArcusClient({ url: directoryUrl }).listings(signer)
  try {
    const saved = await client.save(id, { ...listing, payTo: listing.payTo ?? signer.address })
    process.stdout.write(`${saved.id} is listed, revision ${saved.revision}.\n`)
    for (const { method, url, state } of saved.endpoints) {
      process.stdout.write(`  ${method} ${url}: ${state.status}\n`)
    }
    for (const { path, message } of saved.warnings) {
      process.stdout.write(`  note on ${path}: ${message}\n`)
    }
    return 0
  } catch (error) {
    if (!(error instanceof ArcusError)) throw error
    process.stderr.write(`Not listed (${error.code}): ${error.message}\n`)
    return 1
  }
}

interface ListingRequest {
  directoryUrl: string
  key: Hex
  id: string
  listing: Omit<Listing, 'payTo'> & { payTo: Address | undefined }
}

function readRequest(options: ReturnType<typeof readOptions>): ListingRequest {
  const { id, name, url, title, price, 'pay-to': payTo, ...rest } = options
  const key = process.env.OWNER_KEY ?? ''
  if (!isHex(key) || key.length !== 66) misuse('OWNER_KEY must be 32 bytes of hex with 0x.')
  if (!id || !name || !url || !title || !price) {
    misuse('--id, --name, --url, --title and --price are needed.')
  }
  if (!/^\d+(\.\d{1,6})?$/.test(price)) {
    misuse(`--price wants an amount with at most six decimals such as 0.01, not ${price}`)
  }
  if (payTo !== undefined && !isAddress(payTo)) misuse(`--pay-to wants an address, not ${payTo}`)
  const endpoint: ListingEndpoint = {
    url,
    title,
    price: parseUnits(price, 6).toString(),
    ...(rest.currency === undefined ? {} : { currency: rest.currency }),
    pricing: rest.metered ? 'metered' : 'fixed',
    ...(rest.schema === undefined ? {} : { inputSchema: parseJson(rest.schema, '--schema') }),
    ...callOf(
      rest.method.toUpperCase(),
      rest.example === undefined ? {} : parseJson(rest.example, '--example'),
      rest.tool,
    ),
  }
  const listing = { name, description: rest.about ?? '', payTo, endpoints: [endpoint] }
  return { directoryUrl: rest.directory, key, id, listing }
}

function callOf(method: string, example: Record<string, string>, toolName: string | undefined) {
  switch (method) {
    case 'GET':
    case 'HEAD':
    case 'DELETE':
      return { method, example: { queryParams: example } } as const
    case 'POST':
    case 'PUT':
    case 'PATCH':
      return { method, example: { body: example } } as const
    case 'MCP':
      if (toolName === undefined) misuse('--method MCP needs --tool')
      return { method, toolName, example: { arguments: example } } as const
    default:
      misuse(`--method wants a method of HTTP or MCP, not ${method}`)
  }
}

function parseJson(text: string, flag: string) {
  try {
    return JSON.parse(text)
  } catch {
    misuse(`${flag} wants JSON, not ${text}`)
  }
}

function readOptions() {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      options: {
        id: text,
        name: text,
        url: text,
        title: text,
        price: text,
        currency: text,
        'pay-to': text,
        about: text,
        method: { type: 'string', default: 'GET' },
        tool: text,
        example: text,
        schema: text,
        metered: { type: 'boolean', default: false },
        directory: { type: 'string', default: 'http://localhost:4021' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    misuse((error as Error).message)
  }
}

function misuse(problem: string): never {
  process.stderr.write(`${problem}\n\n${usage}\n`)
  process.exit(2)
}
