import type { LaneStatus } from '../api/status-types.js'
import { Badge } from '../components/badge.js'
import { Usd } from '../components/figures.js'
import { Hex } from '../components/hex.js'
import { roughSpan } from '../format/moments.js'

const tones = { open: 'ok', unfunded: 'warn', closed: 'bad' } as const

/** The relayer wallets: each sends its own transactions in order. */
export function Lanes({ lanes, network }: { lanes: LaneStatus[]; network: string }) {
  return (
    <div className="relative overflow-x-auto border-t border-line">
      <table className="w-full text-left text-sm">
        <caption className="sr-only">Relayer wallets</caption>
        <thead className="text-xs text-muted">
          <tr>
            {['Relayer', 'State', 'In flight', 'Oldest', 'Gas left'].map((name) => (
              <th key={name} scope="col" className="px-5 py-2.5 font-normal whitespace-nowrap">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line border-t border-line">
          {lanes.map(({ address, state, reason, inFlight, oldestPendingSeconds, balanceUsd }) => (
            <tr key={address}>
              <td className="px-5 py-2.5">
                <Hex hex={address} kind="address" network={network} />
              </td>
              <td className="px-5 py-2.5">
                <Badge tone={tones[state]} {...(reason === null ? {} : { title: reason })}>
                  {state}
                </Badge>
                {reason !== null && <p className="mt-1 max-w-xs text-xs text-muted">{reason}</p>}
              </td>
              <td className="px-5 py-2.5 tabular">{inFlight}</td>
              <td className="px-5 py-2.5 whitespace-nowrap tabular">
                {inFlight === 0 ? '–' : roughSpan(oldestPendingSeconds)}
              </td>
              <td className="px-5 py-2.5">
                {balanceUsd === null ? '–' : <Usd usd={balanceUsd} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
