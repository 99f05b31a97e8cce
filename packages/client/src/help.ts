const limits = `Limits, in dollars (in euros with --asset EURC)
  --max M           of one call
  --per-day M       of any 24 hours, default 1.00, or --max if that is more
  --per-seller M    of one seller
  --total M         of this ledger
  --sellers WHO     proven, delivered, any, or a list of listings, addresses and hosts with commas
  --channel M       opens a channel with M in it where a seller offers that, within the same limits`

const service = '  --url URL         of the Arcus service: ARCUS_URL, default http://localhost:4021'
const ledger = '  --ledger FILE     ARCUS_LEDGER, default ~/.arcus/ledger.jsonl'
const rpc = '  --rpc URL         of a node: ARCUS_RPC_URL'
const key = `  --key-file FILE   of the payer, else PAYER_PRIVATE_KEY_FILE, else the key in PAYER_PRIVATE_KEY`
const token = '  --network N  --asset A  --json'

/** The help of each command: what it does, its options, and an example. */
const helps: Readonly<Record<string, string>> = {
  wallet: `arcus-client wallet [--key-file FILE]

Shows address and balance of the wallet that pays, and where money for it comes from. If FILE is not there, it is made with
a new key, readable by you alone.

${key}
${rpc}, default a public one of the network
${token}

arcus-client wallet --key-file payer.key --network eip155:5042002`,
  pay: `arcus-client pay URL --max 0.05

Calls a paid API and pays for it once, within the limits.

  --method M  --query NAME=VALUE (as often as needed)  --body JSON  --tool NAME (arguments in --body)
  --price M         the most that this call may cost; by default the price in the catalog, where it is listed
  --dry-run         shows price, seller, proof and record of delivery, and pays nothing

${limits}; any is the default

${service}
${ledger}
${rpc}, for channels
${key}
${token}

arcus-client pay http://localhost:4022/quote --max 0.05 --per-day 1`,
  find: `arcus-client find WORDS

Searches the catalog, best first.

${service}
  --json

arcus-client find "quotes for a penny"`,
  ledger: `arcus-client ledger

Says what was spent, what sellers gave back of it, and what is left of the limits.

${limits}

${service}
${ledger}
${token}

arcus-client ledger --per-day 2`,
  channels: `arcus-client channels [close]

Lists the open channels, or asks each seller for what is left in them.

${service}
${ledger}
${rpc}, which shows what came back
${key}; needed to close
${token}

arcus-client channels close --rpc http://127.0.0.1:8545`,
  import: `arcus-client import DOCUMENT --id my-api --price 0.01

Lists the API that an OpenAPI 3 document describes.

  --id ID           of the listing
  --price M         of each call
  --pay-to ADDRESS  that is paid, default the address of the key
  --server URL      of the API, where the document names several or none
  --dry-run         shows the listing, and saves nothing

${service}
${key}: of the owner
  --json

arcus-client import openapi.json --id my-api --price 0.01 --key-file owner.key`,
  mcp: `arcus-client mcp --max 0.05 --per-day 1 --per-seller 0.25

Serves an agent by the Model Context Protocol over stdio, within limits that it cannot change.

${limits}; proven is the default

${service}
${ledger}
${rpc}, for channels
${key}
${token}

arcus-client mcp --max 0.05 --per-day 1 --per-seller 0.25 --key-file payer.key`,
}

const summary = `arcus-client wallet                makes a key file, shows address and balance
arcus-client pay URL --max 0.05     calls a paid API and pays for it once
arcus-client find "weather today"  searches the catalog
arcus-client ledger                says what was spent, and what is left
arcus-client channels [close]      lists the open channels, or asks for what is left in them
arcus-client import openapi.json --id my-api --price 0.01
                                   lists your API, paid to the key that signs or to --pay-to
arcus-client mcp --max 0.05 --per-day 1 --per-seller 0.25
                                   serves an agent by the Model Context Protocol over stdio

arcus-client COMMAND --help has the options and an example of each.`

const exits = `Exit code: 0 when it is done, 1 when it could not be done, 2 when the command was not understood.`

/** Returns the help of a command, and without one the list of all. */
export function helpOf(command: string | undefined): string {
  return `${helps[command ?? ''] ?? summary}\n\n${exits}\n`
}
