import { useQuery } from '@tanstack/react-query'
import { listedNetwork, merchantQuery, settingsQuery } from '../api/queries.js'
import { TextLink } from './button.js'
import { CodeBlock } from './code-block.js'

/** The ports of `npm run dev` without options, for which the command needs none. */
const USUAL = { sample: 'http://localhost:4022/quote', rpc: 'http://127.0.0.1:8545' }

/** Shows how the first payment is made: on a devnet the command for the ports that run, elsewhere where to start. */
export function PayCommand() {
  const { data: settings } = useQuery(settingsQuery)
  const isDevnet = settings?.devnet === true
  const { data: sample } = useQuery({ ...merchantQuery('sample-api'), enabled: isDevnet })
  if (!isDevnet) {
    return (
      <p className="text-sm text-pretty text-muted">
        Nothing is paid for here yet. <TextLink href="/console/new">Sell the first API</TextLink>,
        or read <TextLink href="/how-it-works">how it works</TextLink>.
      </p>
    )
  }
  const url = sample?.endpoints[0]?.url ?? USUAL.sample
  const rpc = listedNetwork(settings)?.walletRpcUrls[0] ?? USUAL.rpc
  const isUsual = url === USUAL.sample && rpc.replace(/\/$/, '') === USUAL.rpc
  return (
    <div className="space-y-3 text-sm text-muted">
      <p className="font-medium text-ink">Make the first payment</p>
      <p className="text-pretty">
        The money of this devnet is worth nothing. Run this in a second terminal. It pays for one
        call of the sample API, with the official x402 client:
      </p>
      <CodeBlock
        name="command"
        code={isUsual ? 'npm run pay' : `npm run pay -- ${url} --rpc ${rpc}`}
      />
    </div>
  )
}
