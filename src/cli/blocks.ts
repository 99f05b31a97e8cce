import { parseArgs } from 'node:util'
import type { Address } from 'viem'
import { readConfig } from '../config/config.js'
import { ConfigError } from '../config/config-error.js'
import { createBlockStore } from '../store/sqlite/blocks.js'
import { openDatabase } from '../store/sqlite/database.js'
import { createGroupCommit } from '../store/sqlite/group-commit.js'
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
  const target = parseTarget(role, address)
  if (verb === 'add') {
    await store.addBlock({ ...target, reason: values.reason, createdAt: Date.now() })
    return print(`${target.role} ${target.address} is blocked`)
  }
  if (verb === 'remove') {
    const wasBlocked = await store.removeBlock(target.role, target.address)
    return print(
      `${target.role} ${target.address} ${wasBlocked ? 'is free again' : 'was not blocked'}`,
    )
  }
  throw new UsageError(`Unknown verb ${JSON.stringify(verb)}.\n\n${usage}`)
}

class UsageError extends Error {}

function parseTarget(role: string | undefined, address: string | undefined) {
  if (role !== 'payer' && role !== 'payTo') {
    throw new UsageError(`Say payer or payTo, got ${JSON.stringify(role)}.\n\n${usage}`)
  }
  if (!/^0x[0-9a-fA-F]{40}$/.test(address ?? '')) {
    throw new UsageError(
      `ADDRESS must be 20 bytes of hex with 0x prefix, got ${JSON.stringify(address)}.`,
    )
  }
  return { role, address: address?.toLowerCase() as Address } as const
}
