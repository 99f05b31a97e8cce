import { existsSync } from 'node:fs'
import { readSettings } from '../config/config.js'
import { ConfigError } from '../config/env.js'
import { examine } from '../doctor/examine.js'
import { type Finding, fail, writeReport } from '../doctor/finding.js'
import { inspectDatabase } from '../store/open-stores.js'
import { parseArguments, print, printError, UsageError } from './command-line.js'

const help = `npm run doctor [-- --json]

Checks everything a payment depends on and says how to mend each problem: settings, keys, nodes, chain id, token,
Multicall3, relayer wallets, database, disk, clock, public addresses. It changes nothing and shows no secret. Run it before
the first start or beside a running service. Settings are read as the service reads them, from .env too.

Exit code: 0 when payments can be settled, even with warnings; 1 when not; 2 when the command was not understood.`

process.exitCode = await main()

async function main(): Promise<number> {
  try {
    const { values } = parseArguments({
      options: { json: { type: 'boolean', default: false }, help: { type: 'boolean' } },
    })
    if (values.help) {
      print(help)
      return 0
    }
    const findings = await checkEverything()
    const isWell = findings.every(({ state }) => state !== 'fail')
    print(values.json ? JSON.stringify({ ok: isWell, findings }, null, 2) : writeReport(findings))
    return isWell ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    printError(error.message)
    return 2
  }
}

async function checkEverything(): Promise<Finding[]> {
  // Variables that are already in the environment take precedence over the file.
  if (existsSync('.env')) process.loadEnvFile('.env')
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
    const mend = 'README.md and .env.example explain every setting.'
    return error.problems.map((problem) => fail('settings', problem, mend))
  }
}
