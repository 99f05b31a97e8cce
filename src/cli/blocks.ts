import { parseArgs } from 'node:util'
import { readConfig } from '../config/config.js'
import { ConfigError } from '../config/config-error.js'
import { createBlockStore } from '../store/sqlite/blocks.js'
import { openDatabase } from '../store/sqlite/database.js'
import { createGroupCommit } from '../store/sqlite/group-commit.js'
import { UsageError } from './arguments.js'
import { addBlock, parseBlockTarget, removeBlock } from './block-commands.js'
import { print } from './print.js'

const usage = `Refuse somebody as payer or as recipient; a running service obeys within two seconds.

  npm run blocks -- list
  npm run blocks -- add payer|payTo ADDRESS --reason "why"
  npm run blocks -- remove payer|payTo ADDRESS`

await run().catch((error) => {
  const isKnown = error instanceof ConfigError || error instanceof UsageError
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
  const database = openDatabase(readConfig(process.env).database.path)
  const store = createBlockStore(database, createGroupCommit(database))
  if (verb === 'list') {
    const blocks = await store.listBlocks()
    for (const block of blocks) print(`${block.role} ${block.address} ${block.reason}`)
    return print(`${blocks.length} blocked`)
  }
  if (verb === 'add') {
    return print(await addBlock(store, parseBlockTarget(role, address), values.reason))
  }
  if (verb === 'remove') return print(await removeBlock(store, parseBlockTarget(role, address)))
  throw new UsageError(`Unknown verb ${JSON.stringify(verb)}.\n\n${usage}`)
}
