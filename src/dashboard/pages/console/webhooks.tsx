import { useQuery } from '@tanstack/react-query'
import type { HookSettings } from 'arcus-client/listing-client'
import { type FormEvent, useState } from 'react'
import type { HookView } from '../../../api/events.js'
import type { MerchantView } from '../../../api/listings.js'
import { hooksQuery } from '../../api/queries.js'
import { Button, ButtonLink } from '../../components/button.js'
import { Card, Notice, Section } from '../../components/card.js'
import { TextField } from '../../components/field.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { When } from '../../components/moment.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSession } from '../../wallet/session.js'
import { useWrite, WriteOutcome } from '../../wallet/signed-write.js'
import { words as all } from './words.js'

const words = all.webhooks

type Types = HookSettings['types']

const events = Object.keys(words.types) as Types

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
    <Section title={words.title} note={words.note}>
      {isSignedIn ? (
        <Hooks id={id} why={why} />
      ) : (
        <ButtonLink href={`/console/${encodeURIComponent(id)}`}>{words.signIn}</ButtonLink>
      )}
    </Section>
  )
}

function Hooks({ id, why }: { id: string; why: string | undefined }) {
  const query = useQuery({ ...hooksQuery(id), refetchInterval: 5_000 })
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState<Types>(['payment.settled'])
  const add = useWrite(id, (client, hook: HookSettings) => client.setHook(id, hook))
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
        <TextField label={words.url} value={url} onChange={setUrl} isCode maxLength={1000} />
        <fieldset className="grid gap-2 text-sm sm:grid-cols-2">
          <legend className="mb-2 font-medium">{words.events}</legend>
          {events.map((type) => (
            <label key={type} className="flex items-center gap-2">
              <input type="checkbox" checked={types.includes(type)} onChange={() => toggle(type)} />
              {words.types[type]}
            </label>
          ))}
        </fieldset>
        <Button type="submit" isBusy={add.isPending} why={why ?? whyIncomplete(url, types)}>
          {words.add}
        </Button>
        {secret == null ? (
          <WriteOutcome write={add} done={words.added} />
        ) : (
          <Notice tone="ok" title={words.secret}>
            <code className="break-all">{secret}</code>
          </Notice>
        )}
      </form>
    </>
  )
}

function whyIncomplete(url: string, types: Types): string | undefined {
  if (url.trim() === '') return words.urlFirst
  return types.length === 0 ? words.eventFirst : undefined
}

function HookCard({ id, hook, why }: { id: string; hook: HookView; why: string | undefined }) {
  const types = hook.types as Types
  const replay = useWrite(id, (client, since: number | null) =>
    client.setHook(id, { id: hook.id, url: hook.url, types, since }),
  )
  const remove = useWrite(
    id,
    (client, hookId: string) => client.deleteHook(id, hookId),
    words.removed,
  )
  const isBusy = replay.isPending || remove.isPending
  const isUnconfirmed = hook.state === 'unconfirmed'
  return (
    <Card className="space-y-3 px-5 py-4 text-sm">
      <p className="font-mono break-all">
        <UntrustedText text={hook.url} max={200} />
      </p>
      <p className="text-muted">
        {words.states[hook.state]} · {types.map((type) => words.types[type]).join(', ')} ·{' '}
        {hook.deliveredAt === null ? (
          words.undelivered
        ) : (
          <When text={words.delivered} at={hook.deliveredAt} />
        )}
      </p>
      {isUnconfirmed && <p>{hook.nextAt === null ? words.unanswered : words.challenge}</p>}
      {hook.lastError !== null && (
        <Notice
          tone={hook.state === 'parked' ? 'bad' : 'warn'}
          title={hook.state === 'parked' ? words.stopped : words.failed}
        >
          <UntrustedText text={hook.lastError} max={300} />
        </Notice>
      )}
      {hook.isLossy && <Notice tone="warn" title={words.lossy} />}
      <div className="flex flex-wrap gap-2">
        {hook.state !== 'active' && (
          <Button isBusy={isBusy} why={why} onClick={() => replay.mutate(null)}>
            {isUnconfirmed ? words.ask : words.resume}
          </Button>
        )}
        {!isUnconfirmed && (
          <Button variant="quiet" isBusy={isBusy} why={why} onClick={() => replay.mutate(0)}>
            {words.replay}
          </Button>
        )}
        <Button variant="quiet" isBusy={isBusy} why={why} onClick={() => remove.mutate(hook.id)}>
          {words.remove}
        </Button>
      </div>
      <WriteOutcome write={replay} done={isUnconfirmed ? words.asked : words.replayed} />
      <WriteOutcome write={remove} />
    </Card>
  )
}
