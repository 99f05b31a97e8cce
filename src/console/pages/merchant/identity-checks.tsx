import type { MerchantView } from '@arcus/protocol/answers/listings'
import { useQuery } from '@tanstack/react-query'
import { listedNetwork, settingsQuery } from '../../api/queries.js'
import { Badge } from '../../components/badge.js'
import { Card } from '../../components/card.js'
import { Icon } from '../../components/icons.js'
import { Moment } from '../../components/moment.js'
import { OutLink, UntrustedText } from '../../components/untrusted-text.js'

const checks = [
  ['control', 'Control', 'The seller controls the agent.'],
  ['pay', 'Payment', 'Agent and listing have the same payout address.'],
  ['file', 'File', 'The registration file of the agent names the agent.'],
  ['domain', 'Domain', 'The host of the API names the agent.'],
] as const

/** Shows the number of an agent, linked to its entry in the registry where the network has an explorer. */
function AgentName({ agentId }: { agentId: string }) {
  const { data: settings } = useQuery(settingsQuery)
  const explorer = listedNetwork(settings)?.explorerUrl ?? null
  const registry = settings?.identityRegistry ?? null
  const name = <span className="font-mono">#{agentId.slice(0, 24)}</span>
  if (explorer === null || registry === null) return name
  return <OutLink href={`${explorer}/token/${registry}/instance/${agentId}`}>{name}</OutLink>
}

/** Shows the four checks of the ERC-8004 agent of a listing, each with its date. */
export function IdentityChecks({
  merchant: { identity },
  agentId,
}: {
  merchant: MerchantView
  agentId: string
}) {
  return (
    <Card>
      <div className="flex items-center justify-between gap-3 border-b border-line px-5 py-3 text-sm">
        <span>
          ERC-8004 agent <AgentName agentId={agentId} />
        </span>
        {identity === null && <Badge tone="warn">Not checked yet</Badge>}
      </div>
      <ul className="divide-y divide-line">
        {checks.map(([key, name, meaning]) => {
          const check = identity?.checks[key]
          return (
            <li key={key} className="flex gap-3 px-5 py-3">
              <span className={`mt-1 ${check?.passed === true ? 'text-ok' : 'text-faint'}`}>
                <Icon name={check?.passed === true ? 'check' : 'cross'} size={14} />
              </span>
              <div className="min-w-0 text-sm">
                <p>
                  <span className="font-medium">{name}</span>{' '}
                  <span className="text-muted">
                    {check === undefined ? 'not checked' : check.passed ? 'passed' : 'not passed'}
                  </span>
                </p>
                <p className="text-pretty text-muted">
                  {check === undefined ? meaning : <UntrustedText text={check.detail} max={300} />}
                </p>
                {check !== undefined && (
                  <p className="text-xs text-faint">
                    checked <Moment at={check.checkedAt * 1000} />
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
