import { print, UsageError } from './command-line.js'
import { addBlock, parseBlockTarget, removeBlock } from './merchants/commands.js'
import { type OperatorStores, withStores } from './merchants/operator-stores.js'
import { runCommand } from './operator-command.js'

const help = `Blocks an address as payer or as recipient. A running service applies it within two seconds.

  npm run blocks -- list
  npm run blocks -- add payer|payTo ADDRESS --reason "why"
  npm run blocks -- remove payer|payTo ADDRESS

Settings are read as the service reads them, from .env too. npm run audit shows who blocked what.`

const config = {
  allowPositionals: true,
  options: { reason: { type: 'string', default: '' } },
} as const

process.exitCode = await runCommand(help, config, async ({ positionals, values }) => {
  if (positionals.length === 0) return print(help)
  print(await withStores((stores) => run(stores, positionals, values.reason)))
})

async function run(
  stores: OperatorStores,
  [verb, role, address]: string[],
  reason: string,
): Promise<string> {
  if (verb === 'list') {
    const blocks = await stores.blocks.listBlocks()
    const lines = blocks.map((block) => `${block.role} ${block.address} ${block.reason}`)
    return [...lines, `${blocks.length} blocked`].join('\n')
  }
  if (verb === 'add') return addBlock(stores, parseBlockTarget(role, address), reason)
  if (verb === 'remove') return removeBlock(stores, parseBlockTarget(role, address))
  throw new UsageError(`There is no command ${JSON.stringify(verb)}.\n\n${help}`)
}
