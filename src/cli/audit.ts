import { print, UsageError } from './command-line.js'
import { withStores } from './merchants/operator-stores.js'
import { runCommand } from './operator-command.js'

const help = `npm run audit [-- --limit N] [--json]

Shows who blocked, hid, marked, imported or restored something and when, and when the relayer keys changed. The newest
decisions stand last. The database refuses to change or remove an entry.

  --limit N        default 50
  --json           one JSON object a line
  --help           this text

Commands name the user and the machine they run on, or ARCUS_OPERATOR if it is set.`

const MAX_LIMIT = 1_000_000

const config = {
  options: { limit: { type: 'string', default: '50' }, json: { type: 'boolean', default: false } },
} as const

process.exitCode = await runCommand(help, config, async ({ values }) => {
  const limit = /^\d{1,7}$/.test(values.limit) ? Number(values.limit) : 0
  if (limit < 1 || limit > MAX_LIMIT) {
    throw new UsageError(`--limit wants a number from 1 to ${MAX_LIMIT}.`)
  }
  const entries = await withStores(({ audit }) => audit.list(limit))
  for (const { at, ...entry } of entries) {
    const time = new Date(at).toISOString()
    if (values.json) print(JSON.stringify({ at: time, ...entry }))
    else print([time, entry.actor, entry.action, entry.subject, entry.details].join('  ').trim())
  }
})
