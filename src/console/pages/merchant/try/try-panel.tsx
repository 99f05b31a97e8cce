import type { MerchantEndpoint } from '@arcus/protocol/answers/listings'
import type { ConsoleNetwork, ConsoleSettings } from '@arcus/protocol/answers/service'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { listedNetwork, settingsQuery, standingQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { Segmented, TextArea } from '../../../components/field.js'
import { lazyPage } from '../../../components/page.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { type TryAttempt, useAttempt } from './attempt.js'
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
import { type Payer, playWallet, type ShownTerms } from './payment.js'
import { Result } from './result.js'
import { endOf, useStanding } from './standing.js'

export interface TryPanelProps {
  merchantId: string
  payTo: string
  endpoint: MerchantEndpoint
  /**
   * True where the panel calls the example of the seller unless somebody changes it, and loads the wallets of the browser
   * at a press only.
   */
  isPlain?: boolean
  /** True once a press has opened the panel. If it is plain, play money pays at once, or the list of wallets opens. */
  isPressed: boolean
}

/** Calls one API and pays for it with the visitor's wallet. */
export function TryPanel(props: TryPanelProps) {
  const { data: settings } = useQuery(settingsQuery)
  const network = listedNetwork(settings)
  if (settings === undefined || network === undefined) return null
  return <Panel {...props} settings={settings} network={network} />
}

function Panel({
  merchantId,
  payTo,
  endpoint,
  isPlain = false,
  isPressed,
  settings,
  network,
}: TryPanelProps & { settings: ConsoleSettings; network: ConsoleNetwork }) {
  const shown = shownTerms(network, payTo, endpoint)
  const [attempt, start] = useAttempt({ merchantId, endpoint })
  const [filled, form] = useInput(endpoint)
  const isBegun = isPlain && isPressed
  const [payer, wallet] = usePayer(settings, { isEager: !isPlain, isBegun })
  if (shown === undefined) return null
  const most = priceText(shown, shown.maxAmount)
  const { livePrice } = endpoint.state
  return (
    <section
      aria-label="Try it"
      className={`arriving @container w-full space-y-5 rounded-xl border border-line p-4 ${isPlain ? 'bg-raised' : 'bg-paper sm:p-5'}`}
    >
      {!isPlain && (
        <p className="text-sm text-pretty text-muted">
          Fill in the call and pay for it with your wallet: {most} at most, by signature and without
          gas.
        </p>
      )}
      {livePrice !== null && BigInt(livePrice) > BigInt(shown.maxAmount) && (
        <Notice tone="warn">
          The API asks for {priceText(shown, livePrice)} at the moment, and is listed at {most}.
          More than the listed price is never signed here.
        </Notice>
      )}
      {isPlain && form !== false ? (
        <details className="text-sm">
          <summary className="w-fit text-muted hover:text-ink">Change the call</summary>
          <div className="mt-3">{form}</div>
        </details>
      ) : (
        form
      )}
      {wallet}
      <Act
        attempt={attempt}
        start={start}
        payer={payer}
        filled={filled}
        shown={shown}
        wasPressed={isBegun && settings.devnet}
      />
    </section>
  )
}

/** The terms that a 402 has to keep: those of the listing, in the token as the service knows it. */
function shownTerms(
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

const HELD = 'Payments cannot settle at this moment, so nothing is signed here.'

/** The button and the end of an attempt. While a signed payment may still be taken, no other one is made. */
function Act({
  attempt,
  start,
  payer,
  filled,
  shown,
  wasPressed,
}: {
  attempt: TryAttempt
  start: ReturnType<typeof useAttempt>[1]
  payer: (() => Promise<Payer>) | undefined
  filled: Filled
  shown: ShownTerms
  /** Whether the button was pressed before its code was there. */
  wasPressed: boolean
}) {
  const { standing, isOpen } = useStanding(attempt)
  const { step, signed, reply, refusal } = attempt
  // The place of the answer is kept from the press of the button on, so that nothing moves when it comes.
  const isBegun = step !== 'idle' || reply !== undefined || refusal !== undefined
  const most = priceText(shown, shown.maxAmount)
  const { data: status } = useQuery(standingQuery)
  const isHeld = status?.status === 'not_ready' && step === 'idle'
  const why =
    isOpen && signed && step === 'idle'
      ? `A payment that is under way could still be taken until ${endOf(signed)}. Until then no other one is signed here.`
      : isHeld
        ? HELD
        : undefined
  const act = () => {
    if (payer !== undefined && filled.ok) void start(filled.input, payer, shown)
  }
  const row = useRef<HTMLDivElement>(null)
  const first = useRef(wasPressed ? { isFree: why === undefined, act } : undefined)
  useEffect(() => {
    if (first.current === undefined) return
    row.current?.querySelector('button')?.focus({ preventScroll: true })
    if (first.current.isFree) first.current.act()
    first.current = undefined
  }, [])
  return (
    <>
      <div ref={row} className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button
          data-pay=""
          variant="primary"
          isBusy={step !== 'idle'}
          disabled={payer === undefined || !filled.ok}
          why={why}
          onClick={act}
        >
          {standing === 'paid' ? `Call again for ${most}` : `Call and pay ${most}`}
        </Button>
        <p role="status" className="min-w-0 flex-1 basis-48 text-sm text-pretty text-muted">
          {isHeld ? HELD : <Progress step={step} isReady={payer !== undefined} />}
        </p>
      </div>
      <div className={isBegun ? 'flex min-h-120 flex-col sm:min-h-104' : ''}>
        <Result attempt={attempt} symbol={shown.asset.symbol} />
      </div>
    </>
  )
}

const stepTexts = {
  asking: 'Asking for the price…',
  signing: 'Answer in the wallet.',
  paying: 'Paid call under way. Keep this tab open.',
} as const
const LONG_MS = 10_000

/** Says what the page waits for. */
function Progress({ step, isReady }: Pick<TryAttempt, 'step'> & { isReady: boolean }) {
  const [isLong, setIsLong] = useState(false)
  useEffect(() => {
    setIsLong(false)
    if (step !== 'paying') return
    const timer = setTimeout(() => setIsLong(true), LONG_MS)
    return () => clearTimeout(timer)
  }, [step])
  if (step === 'idle') return isReady ? '' : 'Connect a wallet to pay.'
  return step === 'paying' && isLong
    ? 'The API is slow. The page waits for 75 seconds at most, and then says what it knows. You cannot pay twice.'
    : stepTexts[step]
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
      <TextArea label="JSON" value={json} onChange={setJson} error={faults.json} rows={8} isCode />
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

/** Loaded on demand, because play money needs no wallet. */
const OwnWallet = lazyPage(() => import('./own-wallet.js'), 'OwnWallet')

/**
 * Returns who pays, and the controls to choose that: the visitor's own wallet, or on a devnet one with play money. With
 * `isEager` the wallets of the browser are loaded without a press, and with `isBegun` their list is open.
 */
function usePayer(
  { devnet }: ConsoleSettings,
  { isEager, isBegun }: { isEager: boolean; isBegun: boolean },
) {
  const [kind, setKind] = useState<'play' | 'own'>(devnet ? 'play' : 'own')
  const [own, setOwn] = useState<Payer>()
  const [isAsked, setIsAsked] = useState(isEager || isBegun)
  const ready = own && (() => Promise.resolve(own))
  const controls = (
    <div className="space-y-3">
      {devnet && (
        <Segmented
          legend="Wallet"
          value={kind}
          options={[
            ['play', 'Play wallet'],
            ['own', 'My wallet'],
          ]}
          onChange={setKind}
        />
      )}
      {kind === 'play' ? (
        <p className="text-xs text-pretty text-muted">
          Play money of this devnet. Its key is public, and it is worth nothing anywhere.
        </p>
      ) : isAsked ? (
        <Suspense fallback={<ConnectButton isBusy />}>
          <OwnWallet isPickedAtFirst={!isEager} onPayer={setOwn} />
        </Suspense>
      ) : (
        <ConnectButton onClick={() => setIsAsked(true)} />
      )}
    </div>
  )
  return [kind === 'play' ? () => playWallet(devnet) : ready, controls] as const
}

function ConnectButton(props: { isBusy?: boolean; onClick?: () => void }) {
  return (
    <Button size="sm" {...props}>
      Connect wallet
    </Button>
  )
}
