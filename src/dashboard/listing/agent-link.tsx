import { type FormEvent, useState } from 'react'
import type { MerchantView } from '../api/types.js'
import { Button } from '../components/button.js'
import { Section } from '../components/card.js'
import { Field, inputLook } from '../components/field.js'
import { IdentityChecks } from '../merchant/identity-checks.js'
import { useWrite } from './use-write.js'
import { WriteOutcome } from './write-outcome.js'

/** Says which ERC-8004 agent the merchant is, and shows how the four checks went. */
export function AgentLink({ merchant, isOwner }: { merchant: MerchantView; isOwner: boolean }) {
  const [agentId, setAgentId] = useState(merchant.agentId ?? '')
  const [problem, setProblem] = useState<string>()
  const link = useWrite((client, id: string | null) => client.linkAgent(merchant.id, id))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!/^\d{1,78}$/.test(agentId.trim()))
      return setProblem('Give the number of the agent, such as 214.')
    link.mutate(agentId.trim().replace(/^0+(?=\d)/, ''))
  }
  return (
    <Section
      title="ERC-8004 agent"
      note="Link the agent this merchant is. Four checks are made, dated, and made again; each is shown for itself."
    >
      <IdentityChecks merchant={merchant} />
      <form onSubmit={submit} noValidate className="space-y-3">
        <Field label="Agent id" error={problem}>
          {(field) => (
            <div className="flex flex-wrap gap-2">
              <input
                {...field}
                value={agentId}
                onChange={(event) => {
                  setAgentId(event.target.value)
                  setProblem(undefined)
                }}
                inputMode="numeric"
                autoComplete="off"
                maxLength={78}
                className={`${inputLook} !w-48 font-mono`}
              />
              <Button type="submit" isBusy={link.isPending} disabled={!isOwner}>
                Sign and link
              </Button>
              {merchant.agentId !== null && (
                <Button
                  look="quiet"
                  disabled={!isOwner || link.isPending}
                  onClick={() => link.mutate(null)}
                >
                  Unlink
                </Button>
              )}
            </div>
          )}
        </Field>
        <WriteOutcome write={link} done="Signed. The checks are made now." />
      </form>
    </Section>
  )
}
