import type { ConsoleSettings } from '@arcus/protocol/answers/service'
import { Suspense, useState } from 'react'
import { Button } from '../../../components/button.js'
import { Segmented } from '../../../components/field.js'
import { lazyPage } from '../../../components/page.js'
import { type Payer, playWallet } from './payment.js'

/** Loaded on demand, because play money needs no wallet. */
const OwnWallet = lazyPage(() => import('./own-wallet.js'), 'OwnWallet')

/**
 * Returns who pays, and the controls to choose that: the visitor's own wallet, or on a devnet one with play money. With
 * `isEager` the wallets of the browser are loaded without a press; `opened` is what was pressed before.
 */
export function usePayer(
  { devnet }: ConsoleSettings,
  { isEager, opened }: { isEager: boolean; opened?: 'play' | 'own' | 'fields' | undefined },
) {
  const [kind, setKind] = useState<'play' | 'own'>(devnet && opened !== 'own' ? 'play' : 'own')
  const [own, setOwn] = useState<Payer>()
  const [isAsked, setIsAsked] = useState(isEager || opened === 'own')
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
