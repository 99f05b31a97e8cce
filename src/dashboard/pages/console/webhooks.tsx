import { useQuery } from '@tanstack/react-query'
import type { HookSettings } from 'arcus-client/listing-client'
import { type FormEvent, useState } from 'react'
import type { HookView } from '../../../api/events.js'
import type { MerchantView } from '../../../api/listings.js'
import { hooksQuery } from '../../api/queries.js'
import { Button, ButtonLink } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { TextField } from '../../components/field.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { Notice } from '../../components/notice.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSession } from '../../wallet/session.js'
import { useWrite, WriteOutcome } from '../../wallet/signed-write.js'

const events = [
  ['payment.settled', 'Payments that settled'],
  ['payment.failed', 'Payments that failed'],
  ['endpoint.failing', 'Endpoints that fail'],
  ['endpoint.recovered', 'Endpoints that answer again'],
  ['price.drift', 'Prices that drift'],
] as const

type Types = HookSettings['types']

/** Lists the webhooks of a merchant to its signed-in owner, and has the owner sign changes of them. */
export function Webhooks({
  merchant,
  why,
}: {
  merchant: MerchantView
  /** The reason why the connected wallet cannot sign. */
  why: string | undefined
}) {
  const { id, owner, payToProof } = merchant
  const session = useSession()
  if (owner === null || payToProof === null) return null
  const isSignedIn = sameAddress(session.data?.address, owner)
  return (
    <Section
      title="Webhooks"
      note="Arcus calls an address of yours when something happens. Each call is signed with a secret that is shown once."
    >
      {isSignedIn ? (
        <Hooks id={id} why={why} />
      ) : (
        <ButtonLink href={`/console/${encodeURIComponent(id)}`}>Sign in to see them</ButtonLink>
      )}
    </Section>
  )
}

function Hooks({ id, why }: { id: string; why: string | undefined }) {
  const query = useQuery({ ...hooksQuery(id), refetchInterval: 5_000 })
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState<Types>(['payment.settled'])
  const add = useWrite((client, hook: HookSettings) => client.setHook(id, hook))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    add.mutate({ id: null, url: url.trim(), types, since: null })
  }
  const toggle = (type: Types[number]) =>
    setTypes(types.includes(type) ? types.filter((one) => one !== type) : [...types, type])
  const secret = (add.data as { secret: string | null } | undefined)?.secret
  return (
    <>
      <Loaded query={query} isLive skeleton={<Skeleton className="h-16 w-full !rounded-2xl" />}>
        {({ hooks }) => (
          <div className="space-y-4 empty:hidden">
            {hooks.map((hook) => (
              <HookCard key={hook.id} id={id} hook={hook} why={why} />
            ))}
          </div>
        )}
      </Loaded>
      <form onSubmit={submit} noValidate className="space-y-3">
        <TextField label="Address to call" value={url} onChange={setUrl} isCode maxLength={1000} />
        <fieldset className="grid gap-2 text-sm sm:grid-cols-2">
          <legend className="mb-2 font-medium">Events</legend>
          {events.map(([type, name]) => (
            <label key={type} className="flex items-center gap-2">
              <input type="checkbox" checked={types.includes(type)} onChange={() => toggle(type)} />
              {name}
            </label>
          ))}
        </fieldset>
        <Button type="submit" isBusy={add.isPending} why={why ?? whyIncomplete(url, types)}>
          Sign and add
        </Button>
        {secret == null ? (
          <WriteOutcome write={add} done="Added." />
        ) : (
          <Notice tone="ok" title="Keep this secret; it is not shown again">
            <code className="break-all">{secret}</code>
          </Notice>
        )}
      </form>
    </>
  )
}

function whyIncomplete(url: string, types: Types): string | undefined {
  if (url.trim() === '') return 'Give the address to call first.'
  return types.length === 0 ? 'Choose an event first.' : undefined
}

function HookCard({ id, hook, why }: { id: string; hook: HookView; why: string | undefined }) {
  const types = hook.types as Types
  const replay = useWrite((client, since: number | null) =>
    client.setHook(id, { id: hook.id, url: hook.url, types, since }),
  )
  const remove = useWrite((client, hookId: string) => client.deleteHook(id, hookId))
  const isBusy = replay.isPending || remove.isPending
  const states = { active: 'Active', retrying: 'Trying again', parked: 'Parked' }
  return (
    <Card className="space-y-3 px-5 py-4 text-sm">
      <p className="font-mono break-all">
        <UntrustedText text={hook.url} max={200} />
      </p>
      <p className="text-muted">
        {states[hook.state]} · {hook.types.join(', ')} ·{' '}
        {hook.deliveredAt === null ? 'nothing delivered yet' : 'last delivered '}
        {hook.deliveredAt !== null && <Moment at={hook.deliveredAt} />}
      </p>
      {hook.lastError !== null && (
        <Notice
          tone={hook.state === 'parked' ? 'bad' : 'warn'}
          title={hook.state === 'parked' ? 'Nothing is delivered any more' : 'The last call failed'}
        >
          <UntrustedText text={hook.lastError} max={300} />
        </Notice>
      )}
      {hook.isLossy && (
        <Notice tone="warn" title="Events were dropped before they were delivered" />
      )}
      <div className="flex flex-wrap gap-2">
        {hook.state !== 'active' && (
          <Button isBusy={isBusy} why={why} onClick={() => replay.mutate(null)}>
            Go on
          </Button>
        )}
        <Button variant="quiet" isBusy={isBusy} why={why} onClick={() => replay.mutate(0)}>
          Replay all
        </Button>
        <Button variant="quiet" isBusy={isBusy} why={why} onClick={() => remove.mutate(hook.id)}>
          Remove
        </Button>
      </div>
      <WriteOutcome write={replay} done="Signed. Deliveries begin now." />
      <WriteOutcome write={remove} done="Removed." />
    </Card>
  )
}
