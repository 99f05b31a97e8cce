import { useQuery } from '@tanstack/react-query'
import type { MerchantView } from '../../../api/listings.js'
import { settingsQuery } from '../../api/queries.js'
import { Badge } from '../../components/badge.js'
import { Card } from '../../components/card.js'
import { Icon } from '../../components/icons.js'
import { When } from '../../components/moment.js'
import { Sentence } from '../../components/sentence.js'
import { OutLink, UntrustedText } from '../../components/untrusted-text.js'
import { words } from './words.js'

const checks = ['control', 'pay', 'file', 'domain'] as const

/** Shows the number of an agent, linked to its entry in the registry where the network has an explorer. */
function AgentName({ agentId }: { agentId: string }) {
  const { data: settings } = useQuery(settingsQuery)
  const explorer = settings?.networks.find(({ listed }) => listed)?.explorerUrl ?? null
  const registry = settings?.identityRegistry ?? null
  const name = <span className="font-mono">#{agentId.slice(0, 24)}</span>
  if (explorer === null || registry === null) return name
  return <OutLink href={`${explorer}/token/${registry}/instance/${agentId}`}>{name}</OutLink>
}

/** Shows the four checks of the ERC-8004 agent of a listing, each with its date. */
export function IdentityChecks({ merchant }: { merchant: MerchantView }) {
  const { identity, agentId } = merchant
  if (agentId === null) {
    return <Card className="px-5 py-4 text-sm text-pretty text-muted">{words.checks.noAgent}</Card>
  }
  return (
    <Card>
      <div className="flex items-center justify-between gap-3 border-b border-line px-5 py-3 text-sm">
        <span>
          <Sentence text={words.checks.agent} parts={{ agent: <AgentName agentId={agentId} /> }} />
        </span>
        {identity === null && <Badge tone="warn">{words.checks.pending}</Badge>}
      </div>
      <ul className="divide-y divide-line">
        {checks.map((key) => {
          const check = identity?.checks[key]
          return (
            <li key={key} className="flex gap-3 px-5 py-3">
              <span className={`mt-1 ${check?.passed === true ? 'text-ok' : 'text-faint'}`}>
                <Icon name={check?.passed === true ? 'check' : 'cross'} size={14} />
              </span>
              <div className="min-w-0 text-sm">
                <p>
                  <span className="font-medium">{words.checks.names[key]}</span>{' '}
                  <span className="text-muted">
                    {check === undefined
                      ? words.checks.unchecked
                      : words.checks[check.passed ? 'passed' : 'failed']}
                  </span>
                </p>
                <p className="text-pretty text-muted">
                  {check === undefined ? (
                    words.checks.meanings[key]
                  ) : (
                    <UntrustedText text={check.detail} max={300} />
                  )}
                </p>
                {check !== undefined && (
                  <p className="text-xs text-faint">
                    <When text={words.checked} at={check.checkedAt * 1000} />
                  </p>
                )}
              </div>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
