import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useMemo, useState } from 'react'
import type { MerchantEndpoint } from '../../../../api/listings.js'
import type { ConsoleNetwork, ConsoleSettings } from '../../../../api/service.js'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { TextArea } from '../../../components/field.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { useListedNetwork, WalletProvider } from '../../../wallet/wallet-provider.js'
import { type Attempt, useAttempt } from './attempt.js'
import {
  exampleJson,
  type Filled,
  fieldsOf,
  keyOf,
  readForm,
  readJson,
  type Typed,
} from './form.js'
import { InputForm } from './input-form.js'
import { usePayer } from './payer.js'
import type { Payer, ShownTerms } from './payment.js'
import { Result } from './result.js'
import { endOf, useStanding } from './standing.js'
import { words } from './words.js'

interface TryPanelProps {
  merchantId: string
  payTo: string
  endpoint: MerchantEndpoint
}

/** Calls one endpoint and pays for it with the visitor's wallet. */
export function TryPanel(props: TryPanelProps) {
  const { data: settings } = useQuery(settingsQuery)
  return (
    <WalletProvider>
      {settings !== undefined && <Panel {...props} settings={settings} />}
    </WalletProvider>
  )
}

function Panel({
  merchantId,
  payTo,
  endpoint,
  settings,
}: TryPanelProps & { settings: ConsoleSettings }) {
  const shown = useShownTerms(useListedNetwork(), payTo, endpoint)
  const [attempt, start] = useAttempt({ merchantId, endpoint })
  const [filled, form] = useInput(endpoint)
  const [payer, wallet] = usePayer(settings)
  const title = useId()
  if (shown === undefined) return null
  const most = priceText(shown, shown.maxAmount)
  const { livePrice } = endpoint.state
  return (
    <section
      aria-labelledby={title}
      className="arriving space-y-5 rounded-xl border border-line bg-paper p-4 sm:p-5"
    >
      <div>
        <h4 id={title} className="font-medium">
          {words.title}
        </h4>
        <p className="mt-1 text-sm text-pretty text-muted">{words.lead(most)}</p>
      </div>
      {livePrice !== null && BigInt(livePrice) > BigInt(shown.maxAmount) && (
        <Notice tone="warn">{words.dearer(priceText(shown, livePrice), most)}</Notice>
      )}
      {form}
      {wallet}
      <Act {...{ attempt, start, payer, filled, shown }} />
    </section>
  )
}

/** The terms that a 402 has to keep: those of the listing, in the token as the service knows it. */
function useShownTerms(
  { network, assets }: ConsoleNetwork,
  payTo: string,
  { asset, price }: Pick<MerchantEndpoint, 'asset' | 'price'>,
): ShownTerms | undefined {
  const token = assets.find(({ address }) => sameAddress(address, asset))
  return token && { network, payTo, asset: token, maxAmount: price }
}

function priceText({ asset }: ShownTerms, atomic: string): string {
  return exactAmount(atomicToUsd(atomic), asset.symbol)
}

/** The button and the end of an attempt. While a signed payment may still be taken, no other one is made. */
function Act({
  attempt,
  start,
  payer,
  filled,
  shown,
}: {
  attempt: Attempt
  start: ReturnType<typeof useAttempt>[1]
  payer: Payer | undefined
  filled: Filled
  shown: ShownTerms
}) {
  const { standing, isOpen } = useStanding(attempt)
  const { step, signed, reply, refusal } = attempt
  // The place of the answer is kept from the press of the button on, so that nothing moves when it comes.
  const isBegun = step !== 'idle' || reply !== undefined || refusal !== undefined
  const most = priceText(shown, shown.maxAmount)
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button
          variant="primary"
          isBusy={step !== 'idle'}
          disabled={payer === undefined || !filled.ok}
          why={isOpen && signed && step === 'idle' ? words.stillOpen(endOf(signed)) : undefined}
          onClick={() => {
            if (payer !== undefined && filled.ok) void start(filled.input, payer, shown)
          }}
        >
          {standing === 'paid' ? words.callAgain(most) : words.callAndPay(most)}
        </Button>
        <p role="status" className="min-w-0 flex-1 basis-48 text-sm text-pretty text-muted">
          <Progress step={step} isReady={payer !== undefined} />
        </p>
      </div>
      <div className={isBegun ? 'min-h-120 space-y-4 sm:min-h-96' : ''}>
        <Result attempt={attempt} symbol={shown.asset.symbol} />
      </div>
    </>
  )
}

const LONG_MS = 10_000

/** Says what the page waits for. */
function Progress({ step, isReady }: Pick<Attempt, 'step'> & { isReady: boolean }) {
  const [isLong, setIsLong] = useState(false)
  useEffect(() => {
    setIsLong(false)
    if (step !== 'paying') return
    const timer = setTimeout(() => setIsLong(true), LONG_MS)
    return () => clearTimeout(timer)
  }, [step])
  if (step === 'idle') return isReady ? '' : words.connectFirst
  return step === 'paying' && isLong ? words.payingLong : words[step]
}

/** Keeps what is typed. Returns the call, and the form. */
function useInput(endpoint: MerchantEndpoint) {
  const fields = useMemo(() => fieldsOf(endpoint), [endpoint])
  const [typed, setTyped] = useState<Typed>(() =>
    Object.fromEntries((fields ?? []).map((field) => [keyOf(field), field.initial])),
  )
  const [json, setJson] = useState(() => exampleJson(endpoint))
  const filled = fields === undefined ? readJson(json) : readForm(fields, typed)
  const faults = filled.ok ? {} : filled.faults
  const form =
    fields === undefined ? (
      <TextArea
        label={words.json}
        value={json}
        onChange={setJson}
        error={faults.json}
        rows={8}
        isCode
      />
    ) : (
      fields.length > 0 && (
        <InputForm
          fields={fields}
          typed={typed}
          faults={faults}
          onType={(key, text) => setTyped({ ...typed, [key]: text })}
        />
      )
    )
  return [filled, form] as const
}
