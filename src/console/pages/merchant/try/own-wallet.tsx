import { useEffect, useMemo, useState } from 'react'
import { useConfig, useConnection } from 'wagmi'
import { getConnection, signTypedData } from 'wagmi/actions'
import { Button } from '../../../components/button.js'
import { Glyph } from '../../../components/icons.js'
import { Hex } from '../../../components/untrusted-text.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import {
  toChain,
  useListedNetwork,
  WalletPicker,
  WalletProvider,
} from '../../../wallet/wallet-provider.js'
import type { Payer } from './payment.js'

interface OwnWalletProps {
  /** Whether the list of wallets is open at once. */
  isPickedAtFirst: boolean
  onPayer: (payer: Payer | undefined) => void
}

/** Connects the visitor's wallet, and hands its account over as the payer. */
export function OwnWallet(props: OwnWalletProps) {
  return (
    <WalletProvider>
      <Connected {...props} />
    </WalletProvider>
  )
}

function Connected({ isPickedAtFirst, onPayer }: OwnWalletProps) {
  const config = useConfig()
  const { chainId } = useListedNetwork()
  const { address, status } = useConnection()
  const [isPicking, setIsPicking] = useState(isPickedAtFirst && address === undefined)
  const payer = useMemo((): Payer | undefined => {
    if (address === undefined) return undefined
    return {
      address,
      async signTypedData(typedData) {
        await toChain(config, chainId)
        // The payer is in each message, so another account could only sign something useless.
        if (!sameAddress(getConnection(config).address, address)) {
          throw new Error('The wallet changed its account meanwhile. Nothing was signed.')
        }
        return signTypedData(config, { ...typedData, account: address } as never)
      },
    }
  }, [address, chainId, config])
  useEffect(() => {
    onPayer(payer)
    return () => onPayer(undefined)
  }, [payer, onPayer])
  return (
    <div className="flex flex-wrap items-center gap-3">
      {address !== undefined && (
        <>
          <Glyph of={address} size={24} />
          <Hex hex={address} kind="address" />
        </>
      )}
      <Button size="sm" isBusy={status === 'reconnecting'} onClick={() => setIsPicking(true)}>
        {address === undefined ? 'Connect wallet' : 'Change'}
      </Button>
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </div>
  )
}
