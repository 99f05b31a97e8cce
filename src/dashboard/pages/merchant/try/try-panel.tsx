import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import { useConfig, useConnection } from 'wagmi'
import { getConnection, signTypedData } from 'wagmi/actions'
import type { MerchantEndpoint } from '../../../../api/listings.js'
import type { ConsoleNetwork, ConsoleSettings } from '../../../../api/service.js'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Segmented } from '../../../components/choices.js'
import { TextArea } from '../../../components/field.js'
import { Glyph } from '../../../components/icons.js'
import { Notice } from '../../../components/notice.js'
import { Hex } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { WalletPicker } from '../../../wallet/wallet-picker.js'
import { toChain, useListedNetwork, WalletProvider } from '../../../wallet/wallet-provider.js'
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
import type { Payer } from './payment.js'
import { Result, useRun, useStanding } from './result.js'
import { type Run, runOf } from './run.js'
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
        <p className="mt-1 text-sm text-pretty text-muted">{words.lead(most)}</p>
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
  { asset, price }: Pick<MerchantEndpoint, 'asset' | 'price'>,
): ShownTerms | undefined {
  const token = assets.find(({ address }) => sameAddress(address, asset))
  return token && { network, payTo, asset: token, maxAmount: price }
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
  const { step, signed } = state
  const isOpen =
    signed !== undefined &&
    standing !== 'paid' &&
    standing !== 'expired' &&
    Date.now() / 1000 < signed.validBefore
  const price = priceText(shown, shown.maxAmount)
  const start = () => {
    if (payer !== undefined && filled.ok) void run.start(filled.input, payer, shown)
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        {isOpen && step !== 'signing' ? (
          <Button variant="primary" isBusy={step !== 'idle'} onClick={() => void run.sendAgain()}>
            {words.sameAgain}
          </Button>
        ) : (
          <Button
            variant="primary"
            isBusy={step !== 'idle'}
            disabled={payer === undefined || !filled.ok}
            onClick={start}
          >
            {standing === 'paid' ? words.callAgain(price) : words.callAndPay(price)}
          </Button>
        )}
        <p role="status" className="text-sm text-muted">
          {step === 'idle' ? (payer === undefined ? words.connectFirst : '') : words[step]}
        </p>
      </div>
      <Result state={state} symbol={shown.asset.symbol} />
    </>
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
            legend="Way to fill in the call"
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

/** Returns who pays, and the controls to choose that: the visitor's own wallet, or on a devnet one with play money. */
function usePayer(settings: ConsoleSettings) {
  const config = useConfig()
  const { chainId } = useListedNetwork()
  const { address, status } = useConnection()
  const [isPicking, setIsPicking] = useState(false)
  const [chosen, setChosen] = useState<'own' | 'play'>()
  const kind = chosen ?? (settings.devnet && address === undefined ? 'play' : 'own')

  const own: Payer | undefined = address && {
    address,
    async sign(typedData) {
      await toChain(config, chainId)
      // The payer is in the message, so another account could only sign something useless.
      if (!sameAddress(getConnection(config).address, address)) throw new Error(words.otherAccount)
      return signTypedData(config, { ...typedData, account: address })
    },
  }
  const play = useQuery({
    queryKey: ['play-wallet'],
    queryFn: async () => (await import('./play-wallet.js')).playWallet(settings),
    enabled: settings.devnet && kind === 'play',
    staleTime: Number.POSITIVE_INFINITY,
  })
  const controls = (
    <div className="space-y-3">
      {settings.devnet && (
        <Segmented
          legend="Wallet"
          value={kind}
          options={[
            ['play', words.playWallet],
            ['own', words.ownWallet],
          ]}
          onChange={setChosen}
        />
      )}
      {kind === 'play' ? (
        <p className="text-xs text-pretty text-muted">{words.playText}</p>
      ) : (
        <div className="flex flex-wrap items-center gap-3">
          {address !== undefined && (
            <>
              <Glyph of={address} size={24} />
              <Hex hex={address} kind="address" />
            </>
          )}
          <Button size="sm" isBusy={status === 'reconnecting'} onClick={() => setIsPicking(true)}>
            {address === undefined ? words.connect : words.change}
          </Button>
        </div>
      )}
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </div>
  )
  return [kind === 'play' ? play.data : own, controls] as const
}
