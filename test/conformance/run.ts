/**
 * Shows a facilitator the troubles of payments, and counts on chain what moved.
 *
 *   npm run conformance                      Arcus as built, the facilitator of the official packages, and a control, each
 *                                            on a local chain
 *   npm run conformance -- --local arcus     one of them: arcus, reference or control
 *   npm run conformance -- --facilitator URL --rpc URL --pay-to 0x… [--network eip155:5042002] [--asset 0x…]
 *                          [--name USDC] [--version 2]
 *                                            any facilitator of an EIP-3009 token; PAYER_PRIVATE_KEY holds ten cents of it.
 *                                            What only its operator can do is left out.
 *
 * Ends with 1 when a promise is broken, or when the control breaks none.
 */
import { parseArgs } from 'node:util'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { battery, type Subject } from './battery.js'
import { type LocalName, startLocal } from './subjects.js'

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    local: text,
    facilitator: text,
    rpc: text,
    network: text,
    asset: text,
    name: text,
    version: text,
    'pay-to': text,
  },
})

process.exitCode = await main()

async function main(): Promise<number> {
  if (values.facilitator !== undefined)
    return (await examine(remote(), values.facilitator)) > 0 ? 1 : 0
  const names = (
    values.local === undefined ? ['arcus', 'reference', 'control'] : [values.local]
  ) as LocalName[]
  let code = 0
  for (const name of names) {
    const subject = await startLocal(name)
    try {
      const broken = await examine(subject, name)
      if (name === 'arcus' && broken > 0) code = 1
      if (name === 'control' && broken === 0) code = 1
    } finally {
      await subject.stop()
    }
  }
  return code
}

/** Runs all cases that this subject allows, prints a table, and returns how many broke a promise. */
async function examine(subject: Subject, title: string): Promise<number> {
  print(
    `\n${title}, ${new Date().toISOString().slice(0, 10)}\n\n| Case | Held | Broken |\n|---|---|---|`,
  )
  let broken = 0
  for (const { name, needs, run } of battery) {
    if (needs !== undefined && subject[needs] === undefined) {
      print(`| ${name} | not run | only its operator can |`)
      continue
    }
    const found = await run(subject)
    subject.node?.mend()
    if (found.length > 0) broken++
    print(`| ${name} | ${found.length === 0 ? 'yes' : 'no'} | ${found.join('; ')} |`)
  }
  return broken
}

function remote(): Subject {
  const { facilitator = '', rpc, 'pay-to': payTo, network = 'eip155:5042' } = values
  const key = process.env.PAYER_PRIVATE_KEY
  if (rpc === undefined || payTo === undefined || key === undefined) {
    throw new Error('Set --rpc, --pay-to and PAYER_PRIVATE_KEY as well.')
  }
  return {
    url: facilitator.replace(/\/$/, ''),
    chainUrl: rpc,
    network,
    token: {
      address: (values.asset ?? '0x3600000000000000000000000000000000000000') as Address,
      name: values.name ?? 'USDC',
      version: values.version ?? '2',
    },
    payer: privateKeyToAccount(key as Hex),
    payTo: payTo as Address,
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
