import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useMemo, useState } from 'react'
import type { MerchantEndpoint } from '../../../../api/listings.js'
import type { ConsoleNetwork, ConsoleSettings } from '../../../../api/service.js'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { Segmented, TextArea } from '../../../components/field.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { useListedNetwork, WalletProvider } from '../../../wallet/wallet-provider.js'
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
import type { Payer } from './permit2.js'
import { Result, useRun } from './result.js'
import { type Run, type RunState, runOf } from './run.js'
import { endOf, useStanding } from './standing.js'
import type { ShownTerms } from './terms.js'
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
  const run = useMemo(() => runOf({ merchantId, endpoint }), [merchantId, endpoint])
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
        <p className="mt-1 text-sm text-pretty text-muted">
          {shown.isMetered ? words.leadMetered(most) : words.lead(most)}
        </p>
      </div>
      {livePrice !== null && BigInt(livePrice) > BigInt(shown.maxAmount) && (
        <Notice tone="warn">{words.dearer(priceText(shown, livePrice), most)}</Notice>
      )}
      {form(filled)}
      {wallet}
      <Act run={run} payer={payer} filled={filled} shown={shown} />
    </section>
  )
}

/** The terms that a 402 has to keep: those of the listing, in the token as the service knows it. */
function useShownTerms(
  { network, assets }: ConsoleNetwork,
  payTo: string,
  { asset, price, pricing }: Pick<MerchantEndpoint, 'asset' | 'price' | 'pricing'>,
): ShownTerms | undefined {
  const token = assets.find(({ address }) => sameAddress(address, asset))
  return (
    token && { network, payTo, asset: token, maxAmount: price, isMetered: pricing === 'metered' }
  )
}

function priceText({ asset }: ShownTerms, atomic: string): string {
  return exactAmount(atomicToUsd(atomic), asset.symbol)
}

/** The buttons and the end of a run. While a signed payment may still be taken, no other one is made. */
function Act({
  run,
  payer,
  filled,
  shown,
}: {
  run: Run
  payer: Payer | undefined
  filled: Filled
  shown: ShownTerms
}) {
  const state = useRun(run)
  const { standing } = useStanding(state)
  const { step, signed, reply } = state
  const isOver = standing === 'paid' || standing === 'expired'
  const isOpen =
    signed !== undefined &&
    !isOver &&
    (standing === 'settling' || Date.now() / 1000 < signed.validBefore)
  const isSeen = reply !== undefined && isOver
  useEffect(() => {
    if (isSeen) run.seen()
  }, [isSeen, run])
  // The place of the answer is kept from the press of the button on, so that nothing moves when it comes.
  const isBegun = step !== 'idle' || reply !== undefined
  const most = priceText(shown, shown.maxAmount)
  const price = shown.isMetered ? words.upTo(most) : most
  const start = () => {
    if (payer !== undefined && filled.ok) void run.start(filled.input, payer, shown)
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        {isOpen && signed.header !== undefined && step !== 'signing' ? (
          <Button variant="primary" isBusy={step !== 'idle'} onClick={() => void run.sendAgain()}>
            {words.sameAgain}
          </Button>
        ) : (
          <Button
            variant="primary"
            isBusy={step !== 'idle'}
            disabled={payer === undefined || !filled.ok}
            why={isOpen && step === 'idle' ? words.stillOpen(endOf(signed)) : undefined}
            onClick={start}
          >
            {standing === 'paid' ? words.callAgain(price) : words.callAndPay(price)}
          </Button>
        )}
        <p role="status" className="min-w-0 flex-1 basis-48 text-sm text-pretty text-muted">
          <Progress step={step} isReady={payer !== undefined} />
        </p>
      </div>
      <div className={isBegun ? 'min-h-120 space-y-4 sm:min-h-96' : ''}>
        {step === 'agreeing' && <Agreement run={run} first={state.first} most={most} />}
        <Result state={state} symbol={shown.asset.symbol} />
      </div>
    </>
  )
}

const LONG_MS = 10_000

/** Says what the page waits for. */
function Progress({ step, isReady }: Pick<RunState, 'step'> & { isReady: boolean }) {
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

/** Says what has to be signed or sent before the payment, and asks for it. */
function Agreement({ run, first, most }: { run: Run; first: RunState['first']; most: string }) {
  const isPermit = first === 'permit'
  return (
    <Notice
      title={isPermit ? words.twice : words.approve}
      action={
        <div className="flex flex-wrap gap-2">
          <Button variant="primary" size="sm" onClick={() => run.agree(true)}>
            {isPermit ? words.twiceYes : words.approveYes}
          </Button>
          <Button size="sm" onClick={() => run.agree(false)}>
            {words.stop}
          </Button>
        </div>
      }
    >
      {isPermit ? words.twiceText(most) : words.approveText(most)}
    </Notice>
  )
}

/** Keeps what is typed. Returns the call, and the form as a function of its faults. */
function useInput(endpoint: MerchantEndpoint) {
  const fields = useMemo(() => fieldsOf(endpoint), [endpoint])
  const [mode, setMode] = useState<'form' | 'json'>(fields === undefined ? 'json' : 'form')
  const [typed, setTyped] = useState<Typed>(() =>
    Object.fromEntries((fields ?? []).map((field) => [keyOf(field), field.initial])),
  )
  const [json, setJson] = useState(() => exampleJson(endpoint))
  const filled = fields === undefined || mode === 'json' ? readJson(json) : readForm(fields, typed)

  const change = (next: 'form' | 'json') => {
    // The typed values go along. A form cannot show everything that JSON can say, so there is no way back.
    if (next === 'json' && filled.ok) setJson(JSON.stringify(filled.input, null, 2))
    setMode(next)
  }
  const form = (result: Filled) => {
    const faults = result.ok ? {} : result.faults
    if (fields?.length === 0) return null
    return (
      <div className="space-y-4">
        {fields !== undefined && (
          <Segmented
            legend={words.wayToFill}
            value={mode}
            options={[
              ['form', words.form],
              ['json', words.json],
            ]}
            onChange={change}
          />
        )}
        {mode === 'form' && fields !== undefined ? (
          <InputForm
            fields={fields}
            typed={typed}
            faults={faults}
            onType={(key, text) => setTyped({ ...typed, [key]: text })}
          />
        ) : (
          <TextArea
            label={words.json}
            value={json}
            onChange={setJson}
            error={faults.json}
            rows={8}
            isCode
          />
        )}
      </div>
    )
  }
  return [filled, form] as const
}
