import { setTimeout } from 'node:timers/promises'
import { readConfig } from '../app/config/config.js'
import { readCanaryKeys } from '../app/config/secrets.js'
import { type CanaryMetrics, createCanaryMetrics } from './canary/canary-metrics.js'
import { type Canary, openCanary } from './canary/canary-payment.js'
import {
  type Arguments,
  CommandError,
  defineCommand,
  parseHttpUrl,
  parsePort,
  print,
  UsageError,
} from './command-line.js'

const help = `arcus canary [OPTIONS]

Pays a real cent from one wallet of yours to another, through /verify and /settle, and says whether it settled. The richer
of the two wallets pays, so that the same cents go back and forth. Only gas is spent, by the relayers.

  --url URL        the service, default BASE_URL
  --network NAME   default the first that the settings serve
  --asset ADDRESS  the token, default the first of the settings
  --every SECONDS  pay again and again, 10 to 86400; without it once
  --port PORT      serve the figures at http://HOST:PORT/metrics, with --every
  --host HOST      default 127.0.0.1
  --textfile FILE  write the figures into a file for node_exporter
  --help           this text

CANARY_PRIVATE_KEYS names the keys of both wallets, separated by a comma. No relayer may be among them.

Exit code of a single payment: 0 when it settled, 1 when it did not, 2 when the command was not understood.`

const config = {
  options: {
    url: { type: 'string' },
    network: { type: 'string' },
    asset: { type: 'string' },
    every: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string' },
    textfile: { type: 'string' },
  },
} as const

export const command = defineCommand(help, config, async ({ values }) => {
  const options = readOptions(values)
  const { canary, metrics } = await prepare(options)
  const server = options.port && (await metrics.serve(options.host, options.port))
  try {
    if (options.everySeconds === undefined) {
      if (!(await payOnce(canary, metrics, options.textfile))) throw new CommandError('Not paid.')
    } else await payForEver(canary, metrics, { ...options, everySeconds: options.everySeconds })
  } finally {
    if (server) server.close()
    canary.close()
  }
})

type Options = ReturnType<typeof readOptions>

function readOptions({ every, port, url, ...values }: Arguments<typeof config>['values']) {
  const everySeconds = every === undefined ? undefined : parseSeconds(every)
  if (port !== undefined && everySeconds === undefined) {
    throw new UsageError('--port wants --every: a single payment is over before it is scraped.')
  }
  return {
    ...values,
    url: url && parseHttpUrl('--url', url).replace(/\/+$/, ''),
    asset: values.asset?.toLowerCase(),
    everySeconds,
    port: port === undefined ? undefined : parsePort('--port', port),
  }
}

function parseSeconds(text: string): number {
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (seconds >= 10 && seconds <= 86_400) return seconds
  throw new UsageError(`--every wants seconds from 10 to 86400, not "${text}".`)
}

async function prepare({ url, network, asset }: Options) {
  const config = readConfig(process.env)
  const keys = readCanaryKeys(process.env)
  const place = config.networks.find((it) => network === undefined || it.network === network)
  if (place === undefined) {
    const served = config.networks.map((it) => it.network).join(', ')
    throw new UsageError(`--network wants one of those that the settings serve: ${served}.`)
  }
  const { baseUrl, minAmount } = config
  const wanted = place.assets.find((it) => asset === undefined || it.toLowerCase() === asset)
  if (wanted === undefined) {
    throw new UsageError(
      `--asset wants one of those that the settings name: ${place.assets.join(', ')}.`,
    )
  }
  const canary = await openCanary({
    url: url ?? baseUrl,
    place: { ...place, asset: wanted },
    keys,
    minAmount,
  })
  return { canary, metrics: createCanaryMetrics() }
}

/** Pays, keeps the figures and says what happened. Resolves with whether the payment settled. */
async function payOnce(
  canary: Canary,
  metrics: CanaryMetrics,
  textfile: string | undefined,
): Promise<boolean> {
  if (textfile !== undefined) metrics.recall(textfile)
  const result = await canary.pay()
  metrics.note(result)
  if (textfile !== undefined) await metrics.write(textfile)
  const steps = [result.verifySeconds, result.settleSeconds]
    .map((seconds) => (seconds === undefined ? '-' : `${seconds.toFixed(2)} s`))
    .join(', settle ')
  const outcome = result.ok ? `settled in ${result.transaction}` : `not settled: ${result.problem}`
  print(`${new Date().toISOString()}  ${outcome}  (verify ${steps})`)
  return result.ok
}

/** Pays until the process is asked to stop; a payment under way is finished first. */
async function payForEver(
  canary: Canary,
  metrics: CanaryMetrics,
  options: { everySeconds: number; textfile?: string },
): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
  while (!stop.signal.aborted) {
    const startedAt = Date.now()
    await payOnce(canary, metrics, options.textfile)
    const left = options.everySeconds * 1000 - (Date.now() - startedAt)
    await setTimeout(Math.max(1_000, left), undefined, { signal: stop.signal }).catch(() => {})
  }
}
