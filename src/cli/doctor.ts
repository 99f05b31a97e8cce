import { readSettings } from '../app/config/config.js'
import { ConfigError } from '../app/config/env.js'
import { examine } from '../app/doctor/examine.js'
import { settingsHelp } from '../app/doctor/explain-start.js'
import { type Finding, fail, writeReport } from '../app/doctor/finding.js'
import { inspectDatabase } from '../app/doctor/inspect-database.js'
import { defineCommand, print } from './command-line.js'

const help = `arcus doctor [--only facilitator|directory] [--json]

Checks everything a payment depends on and says how to fix each problem: settings, keys, nodes, chain id, token,
Multicall3, relayer wallets, database, disk, clock, public addresses. It changes nothing and shows no secret. Run it before
the first start or next to a running service.

  --only HALF   checks what a process of this half alone needs, like SERVE_ONLY

Exit code: 0 when payments can be settled, even with warnings; 1 when not; 2 when the command was not understood.`

const config = {
  options: { json: { type: 'boolean', default: false }, only: { type: 'string' } },
} as const

export const command = defineCommand(help, config, async ({ values }) => {
  if (values.only !== undefined) process.env.SERVE_ONLY = values.only
  const findings = await checkEverything()
  const isWell = findings.every(({ state }) => state !== 'fail')
  print(values.json ? JSON.stringify({ ok: isWell, findings }, null, 2) : writeReport(findings))
  return isWell ? 0 : 1
})

async function checkEverything(): Promise<Finding[]> {
  try {
    const { config, secrets } = readSettings(process.env)
    const database = await inspectDatabase(config.database)
    try {
      return await examine({ config, secrets, env: process.env, database, now: () => Date.now() })
    } finally {
      await database.close()
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) => fail('settings', problem, settingsHelp))
  }
}
