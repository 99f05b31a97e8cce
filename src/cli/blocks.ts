import { parseArgs } from 'node:util'
import { readConfig } from '../config/config.js'
import { ConfigError } from '../config/env.js'
import type { BlockStore } from '../store/blocks.js'
import { openStores } from '../store/open-stores.js'
import { StoreUnavailableError } from '../store/store-unavailable.js'
import { UsageError } from './arguments.js'
import { addBlock, parseBlockTarget, removeBlock } from './block-commands.js'
import { print } from './print.js'

const usage = `Refuse somebody as payer or as recipient; a running service obeys within two seconds.

  npm run blocks -- list
  npm run blocks -- add payer|payTo ADDRESS --reason "why"
  npm run blocks -- remove payer|payTo ADDRESS`

await run().catch((error) => {
  const isKnown =
    error instanceof ConfigError ||
    error instanceof UsageError ||
    error instanceof StoreUnavailableError
  process.stderr.write(`${isKnown ? error.message : String(error)}\n`)
  process.exitCode = 1
})

async function run(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { reason: { type: 'string', default: '' }, help: { type: 'boolean' } },
  })
  const [verb, role, address] = positionals
  if (values.help || verb === undefined) return print(usage)
  const stores = await openStores(readConfig(process.env).database)
  try {
    print(await obey(stores.blocks, { verb, role, address, reason: values.reason }))
  } finally {
    await stores.close()
  }
}

/** Resolves with what to tell. */
async function obey(
  store: BlockStore,
  {
    verb,
    role,
    address,
    reason,
  }: Record<'verb' | 'role' | 'address' | 'reason', string | undefined>,
): Promise<string> {
  if (verb === 'list') {
    const blocks = await store.listBlocks()
    const lines = blocks.map((block) => `${block.role} ${block.address} ${block.reason}`)
    return [...lines, `${blocks.length} blocked`].join('\n')
  }
  if (verb === 'add') return addBlock(store, parseBlockTarget(role, address), reason ?? '')
  if (verb === 'remove') return removeBlock(store, parseBlockTarget(role, address))
  throw new UsageError(`Unknown verb ${JSON.stringify(verb)}.\n\n${usage}`)
}
