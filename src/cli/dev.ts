import { setTimeout as sleep } from 'node:timers/promises'
import { formatUnits } from 'viem'
import { devnetBuyback, devnetMerchant, devnetPayer, devnetRelayers } from '../devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../devnet/fixtures.js'
import { DevnetError } from '../devnet/process.js'
import { type Stack, startStack } from '../devnet/stack.js'
import {
  type Arguments,
  CommandError,
  defineCommand,
  isRunByNpm,
  parseHttpUrl,
  parsePort,
  print,
  printError,
  UsageError,
  watchNpm,
} from './command-line.js'

const help = `npm run dev [-- OPTIONS]

Starts a local chain that poses as Arc (eip155:5042), Arcus, and a sample paid API.

  --fork URL       fork the chain at this RPC address instead of starting an empty one
  --port N         Arcus, default 4021
  --rpc-port N     the chain's RPC, default 8545
  --api-port N     the sample API, default 4022
  --help           this text

Settings of Arcus that are exported in the environment (LOG_LEVEL, RATE_LIMIT_MAX and so on) apply.`

const defaultPorts = { port: 4021, rpcPort: 8545, apiPort: 4022 }

// Ctrl-C reaches the children too, and one of them may end before this process gets the signal.
const signalLeadMs = 250
const shutdownLimitMs = 10_000
const launcherCheckMs = 500

const config = {
  options: {
    fork: { type: 'string' },
    port: { type: 'string', default: String(defaultPorts.port) },
    'rpc-port': { type: 'string', default: String(defaultPorts.rpcPort) },
    'api-port': { type: 'string', default: String(defaultPorts.apiPort) },
  },
} as const

export const command = defineCommand(help, config, ({ values }) => run(readOptions(values)))

type DevOptions = ReturnType<typeof readOptions>

function readOptions({ fork, ...values }: Arguments<typeof config>['values']) {
  const port = parsePort('--port', values.port)
  const rpcPort = parsePort('--rpc-port', values['rpc-port'])
  const apiPort = parsePort('--api-port', values['api-port'])
  if (new Set([port, rpcPort, apiPort]).size < 3) {
    throw new UsageError('--port, --rpc-port and --api-port must differ.')
  }
  const forked = fork === undefined ? {} : { forkUrl: parseHttpUrl('--fork', fork) }
  return { port, rpcPort, apiPort, ...forked }
}

/** Runs until a signal; rejects when the stack does not start or a part of it ends by itself. */
async function run(options: DevOptions): Promise<void> {
  const signalled = untilSignal()
  let stack: Stack | undefined
  const failing = async (): Promise<never> => {
    stack = await startStack({ ...options, env: process.env, onStep })
    await describe(options, stack)
    throw await stack.failed
  }
  try {
    await Promise.race([signalled, failing().catch((error) => unlessSignalled(signalled, error))])
  } finally {
    // A stack that is half started when the signal comes ends with this process.
    await Promise.race([stack?.stop(), sleep(shutdownLimitMs)])
  }
}

function onStep(step: string): void {
  print(`starting: ${step}`)
}

/** Resolves at a signal, or when the parent is gone without having passed one on, as happens with npm and its shell. */
function untilSignal(): Promise<void> {
  const launcher = process.ppid
  return new Promise((resolve) => {
    const end = () => resolve()
    // Later signals are ignored: Ctrl-C reaches this process directly and again through npm.
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, end)
    if (isRunByNpm()) watchNpm(end)
    else setInterval(() => process.ppid === launcher || end(), launcherCheckMs).unref()
  })
}

async function unlessSignalled(signalled: Promise<void>, error: unknown): Promise<void> {
  const early = await Promise.race([signalled.then(() => true), sleep(signalLeadMs)])
  if (early === true) return
  throw error instanceof DevnetError ? new CommandError(error.message) : error
}

async function describe(
  options: DevOptions,
  { console: built, sample, operatorEnv }: Pick<Stack, 'console' | 'sample' | 'operatorEnv'>,
): Promise<void> {
  const { port, rpcPort, apiPort, forkUrl } = options
  const rpcUrl = `http://127.0.0.1:${rpcPort}`
  const quoteUrl = `http://localhost:${apiPort}/quote`
  const funds = formatUnits(await usdcBalance(rpcUrl, devnetPayer.address), 6)
  const custom = rpcPort !== defaultPorts.rpcPort || apiPort !== defaultPorts.apiPort
  const settings = Object.entries(operatorEnv).map(([name, value]) => `${name}=${value}`)
  const opens = built.state === 'failed' ? 'without its console' : 'open it in a browser'
  const chain = forkUrl === undefined ? 'a block every 500 ms' : 'forked, a block every 500 ms'
  if (built.state === 'failed') {
    printError(`The console could not be built, the rest works:\n${built.complaint}`)
  }
  if (sample.complaint !== undefined) {
    printError(`The sample API could not be listed, the rest works: ${sample.complaint}`)
  }
  print(`
Arcus is running on a local chain that poses as Arc (eip155:5042).

  Arcus        http://localhost:${port}   ${opens}
  Sample API   ${quoteUrl}   0.01 USDC a call
  Hosted       http://localhost:${port}/hosted/fees   0.005 USDC a call
  Chain RPC    ${rpcUrl}   ${chain}

  USDC         ${devnetContracts.usdc}   a mock
  Payer        ${devnetPayer.address}   ${funds} USDC, no gas
               key ${devnetPayer.privateKey}
  Seller       ${devnetMerchant.address}   owns the sample API
               key ${devnetMerchant.privateKey}
  Operator     ${devnetBuyback.address}   is paid for what is hosted
${devnetRelayers.map(({ address }, index) => `  Relayer ${index + 1}    ${address}   pays the gas`).join('\n')}

Listings may name local addresses here; with PROBE_ALLOW_PRIVATE_HOSTS=false they may not, as in production.
The operator's commands about merchants (docs/operations.md) run in another terminal:

  ${settings.join(' ')} npm run arcus -- merchants list

All keys are public test keys of anvil: never send them money on a real chain.
Ctrl-C stops everything. Now pay for a call, in a second terminal:

  npm run pay${custom ? ` -- ${quoteUrl} --rpc ${rpcUrl}` : ''}
`)
}
