import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useConfig, useConnection } from 'wagmi'
import { getConnection, signTypedData } from 'wagmi/actions'
import type { ConsoleSettings } from '../../../../api/service.js'
import { Button } from '../../../components/button.js'
import { Segmented } from '../../../components/field.js'
import { Glyph } from '../../../components/icons.js'
import { Hex } from '../../../components/untrusted-text.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { WalletPicker } from '../../../wallet/wallet-picker.js'
import { toChain, useListedNetwork } from '../../../wallet/wallet-provider.js'
import type { Payer } from './payment.js'
import { words } from './words.js'

/** Returns who pays, and the controls to choose that: the visitor's own wallet, or on a devnet one with play money. */
export function usePayer(settings: ConsoleSettings) {
  const config = useConfig()
  const { chainId } = useListedNetwork()
  const { address, status } = useConnection()
  const [isPicking, setIsPicking] = useState(false)
  const [chosen, setChosen] = useState<'own' | 'play'>()
  const kind = chosen ?? (settings.devnet && address === undefined ? 'play' : 'own')

  const own: Payer | undefined = address && {
    address,
    async signTypedData(typedData) {
      await toChain(config, chainId)
      // The payer is in each message, so another account could only sign something useless.
      if (!sameAddress(getConnection(config).address, address)) throw new Error(words.otherAccount)
      return signTypedData(config, { ...typedData, account: address } as never)
    },
  }
  const play = useQuery({
    queryKey: ['play-wallet'],
    queryFn: async () => (await import('./play-wallet.js')).playWallet(settings.devnet),
    enabled: settings.devnet && kind === 'play',
    staleTime: Number.POSITIVE_INFINITY,
  })
  const controls = (
    <div className="space-y-3">
      {settings.devnet && (
        <Segmented
          legend={words.wallet}
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
