import { ArcusError } from '@arcus/client/calls'
import type { HookSettings } from '@arcus/client/listing-client'
import type { HookCallView, HooksAnswer, HookView } from '@arcus/protocol/answers/events'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { sendJson } from '../../api/http.js'
import { hooksQuery } from '../../api/queries.js'
import { Dot, type Tone } from '../../components/badge.js'
import { Button, CopyButton } from '../../components/button.js'
import { Card, Failure, Notice, Section } from '../../components/card.js'
import { TextField } from '../../components/field.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { PointInTime } from '../../components/moment.js'
import { DataTable, type TableColumn } from '../../components/table.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { zoneName } from '../../format/moments.js'
import { useWrite, WriteOutcome } from '../../wallet/signing.js'
import { SignedButton } from './signed.js'
import { SignedIn } from './signed-in.js'

type Types = HookSettings['types']

const typeNames: Record<Types[number], string> = {
  'payment.settled': 'Payments that settled',
  'payment.failed': 'Payments that failed',
  'endpoint.failing': 'APIs that fail their checks',
  'endpoint.recovered': 'APIs that work again',
  'endpoint.not_delivered': 'Paid checks that brought nothing',
  'price.drift': 'Prices that differ from the listing',
}

const types = Object.keys(typeNames) as Types

const states: Record<HookView['state'], [Tone, string]> = {
  unconfirmed: ['warn', 'Not confirmed'],
  active: ['ok', 'Active'],
  retrying: ['warn', 'Trying again'],
  parked: ['bad', 'Stopped'],
}

const pathOf = (id: string, part: string) =>
  `/api/merchants/${encodeURIComponent(id)}/hooks/${part}`

/** Lists the webhooks of a seller to its signed-in owner, and has the owner sign changes of them. */
export function Webhooks({ id, owner }: { id: string; owner: string }) {
  return (
    <Section
      title="Webhooks"
      note="Arcus calls a URL of yours when something happens, once its receiver has answered a challenge. Each call is signed with a secret that is shown to you once."
    >
      <SignedIn
        owner={owner}
        title="Sign in to see your webhooks"
        skeleton={<Skeleton isCard className="h-dvh w-full" />}
      >
        <Hooks id={id} />
      </SignedIn>
    </Section>
  )
}

function Hooks({ id }: { id: string }) {
  const query = useQuery({ ...hooksQuery(id), refetchInterval: 5_000 })
  return (
    <Loaded query={query} skeleton={<Skeleton isCard className="h-dvh w-full" />}>
      {({ hooks }) => (
        <div className="space-y-4">
          {hooks.map((hook) => (
            <HookCard key={hook.id} id={id} hook={hook} />
          ))}
          <NewHook id={id} />
        </div>
      )}
    </Loaded>
  )
}

/** Adds a webhook. The service checks the URL before the wallet is asked for anything. */
function NewHook({ id }: { id: string }) {
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState<Types>(['payment.settled'])
  const add = useWrite(id, (client, hook: HookSettings) => client.setHook(id, hook))
  const url = typed.trim()
  const checking = useMutation({
    mutationFn: async () => {
      if (url === '') throw new Error('Give the URL to call.')
      await sendJson('POST', pathOf(id, 'check'), { url })
    },
    onSuccess: () =>
      add.mutate({ url, types: chosen, id: null, since: null }, { onSuccess: () => setTyped('') }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const field = event.currentTarget.querySelector('input')
    if (chosen.length > 0) checking.mutate(undefined, { onError: () => field?.focus() })
  }
  const { error } = checking
  const problem =
    error instanceof ArcusError ? error.message.replace(/^url /, 'This URL ') : error?.message
  const secret = add.data?.secret ?? null
  return (
    <Card className="px-5 py-4">
      <h3 className="mb-3 font-semibold">Add a webhook</h3>
      <form onSubmit={submit} noValidate className="space-y-3">
        <TextField
          value={typed}
          onChange={setTyped}
          label="URL to call"
          error={problem}
          placeholder="https://"
          inputMode="url"
          isCode
          maxLength={1000}
        />
        <fieldset className="grid gap-2 text-sm sm:grid-cols-2">
          <legend className="mb-2 font-medium">Events</legend>
          {types.map((type) => (
            <label key={type} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={chosen.includes(type)}
                onChange={({ target }) =>
                  setChosen(
                    types.filter((it) => (it === type ? target.checked : chosen.includes(it))),
                  )
                }
              />
              {typeNames[type]}
            </label>
          ))}
        </fieldset>
        {chosen.length === 0 && (
          <p role="alert" className="text-xs text-bad">
            Choose an event.
          </p>
        )}
        <Button type="submit" isBusy={checking.isPending || add.isPending}>
          Sign and add
        </Button>
        {secret === null ? (
          <WriteOutcome write={add} />
        ) : (
          <Notice tone="ok" title="Keep this secret now. It is not shown again.">
            <span className="inline-flex max-w-full items-center gap-1">
              <code className="break-all">{secret}</code>
              <CopyButton text={secret} name="secret" />
            </span>
          </Notice>
        )}
      </form>
    </Card>
  )
}

function HookCard({ id, hook }: { id: string; hook: HookView }) {
  const { url, state, lastError, calls } = hook
  const [tone, name] = states[state]
  const set = useWrite(id, (client, since: number | null) =>
    client.setHook(id, { id: hook.id, url, types: hook.types as Types, since }),
  )
  const isUnconfirmed = state === 'unconfirmed'
  const isParked = state === 'parked'
  return (
    <Card className="overflow-hidden text-sm">
      <div className="space-y-3 px-5 py-4">
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
          <span className="min-w-0 font-mono text-xs break-all">
            <UntrustedText text={url} max={200} />
          </span>
          <Dot tone={tone}>{name}</Dot>
        </div>
        <p className="text-muted">
          {hook.types.map((type) => typeNames[type as Types[number]]).join(', ')}
        </p>
        {isUnconfirmed && (
          <p>
            {hook.nextAt === null && calls.length > 0
              ? 'The receiver did not answer the challenge, and Arcus asks it no more. Correct the receiver, and send the challenge again.'
              : 'Arcus has sent this URL a challenge. Once the receiver answers with its text, deliveries begin. Nothing else is sent before.'}
          </p>
        )}
        {lastError !== null && (
          <Notice
            tone={isParked ? 'bad' : 'warn'}
            title={isParked ? 'Nothing is delivered any more' : 'The last call failed'}
          >
            <UntrustedText text={lastError} max={300} />
          </Notice>
        )}
        {hook.isLossy && (
          <Notice tone="warn" title="Some events were dropped before they were delivered" />
        )}
        <div className="flex flex-wrap gap-2">
          {!isUnconfirmed && !isParked && <TestButton id={id} hook={hook} />}
          {state !== 'active' && (
            <Button size="sm" isBusy={set.isPending} onClick={() => set.mutate(null)}>
              {isUnconfirmed ? 'Send the challenge again' : 'Start again'}
            </Button>
          )}
          <SignedButton
            id={id}
            size="sm"
            variant="quiet"
            act={(client) => client.deleteHook(id, hook.id)}
            done="The webhook is removed."
          >
            Remove
          </SignedButton>
        </div>
        <WriteOutcome
          write={set}
          done={
            isUnconfirmed ? 'Signed. The challenge is on its way.' : 'Signed. Deliveries begin now.'
          }
        />
        {!isUnconfirmed && (
          <details className="text-muted">
            <summary className="w-fit hover:text-ink">Missed something?</summary>
            <p className="my-2 text-pretty">
              Arcus can send the events of the last 30 days once more, oldest first. Each has the id
              that it had before, so your receiver can leave out those it knows. This is possible
              once in ten minutes.
            </p>
            <Button size="sm" isBusy={set.isPending} onClick={() => set.mutate(0)}>
              Send all events again
            </Button>
          </details>
        )}
      </div>
      <Calls calls={calls} />
    </Card>
  )
}

/** Sends a test event. The call appears among the others, however it ended. */
function TestButton({ id, hook }: { id: string; hook: HookView }) {
  const client = useQueryClient()
  const test = useMutation({
    mutationFn: () => sendJson<{ call: HookCallView }>('POST', pathOf(id, 'test'), { id: hook.id }),
    onSuccess: ({ call }) =>
      client.setQueryData<HooksAnswer>(
        hooksQuery(id).queryKey,
        (answer) =>
          answer && {
            hooks: answer.hooks.map((one) =>
              one.id === hook.id && one.calls.every(({ event }) => event !== call.event)
                ? { ...one, calls: [call, ...one.calls] }
                : one,
            ),
          },
      ),
  })
  const call = test.data?.call
  return (
    <>
      <Button size="sm" isBusy={test.isPending} onClick={() => test.mutate()}>
        Send a test event
      </Button>
      <div className="order-last w-full empty:hidden" aria-live="polite">
        <Failure title="No test was sent" of={test.error} />
        {call !== undefined && (
          <Notice tone={call.error === null ? 'ok' : 'warn'}>
            {call.error ?? `The receiver took the test event and answered ${call.status}.`}
          </Notice>
        )}
      </div>
    </>
  )
}

/** Lists the last calls of a receiver. */
function Calls({ calls }: { calls: readonly HookCallView[] }) {
  if (calls.length === 0) {
    return (
      <p className="border-t border-line px-5 py-3 text-xs text-muted">Nothing was sent yet.</p>
    )
  }
  return (
    <div className="max-h-64 overflow-y-auto border-t border-line">
      <DataTable
        label="Last deliveries"
        columns={callColumns}
        rows={calls}
        keyOf={({ at, event, attempt }) => `${at} ${event} ${attempt}`}
      />
    </div>
  )
}

const callColumns: TableColumn<HookCallView>[] = [
  { name: `Time, ${zoneName()}`, cell: ({ at }) => <PointInTime at={at} /> },
  {
    name: 'Event',
    cell: ({ type, event }) => (
      <span className="font-mono text-xs" title={event}>
        {type}
      </span>
    ),
  },
  {
    name: 'Status',
    cell: ({ status, error }) => (
      <span title={error ?? undefined}>
        <Dot tone={error === null ? 'ok' : 'bad'}>{status ?? 'no answer'}</Dot>
      </span>
    ),
  },
  { name: 'Attempt', cell: ({ attempt }) => <span className="tabular">{attempt}</span> },
]
