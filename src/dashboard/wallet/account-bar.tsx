import { useState } from 'react'
import { useConnection, useDisconnect, useSwitchChain } from 'wagmi'
import { Button } from '../components/button.js'
import { Glyph } from '../components/glyph.js'
import { Hex } from '../components/hex.js'
import { Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { oneLine } from '../format/hostile-text.js'
import { useLateReconnect } from './use-late-reconnect.js'
import { describeError } from './wallet-error.js'
import { WalletPicker } from './wallet-picker.js'
import { useListedNetwork } from './wallet-provider.js'

/** Who is connected, and whether on the right chain. */
export function AccountBar() {
  const { address, connector, status } = useConnection()
  const { mutate: disconnect } = useDisconnect()
  const [isPicking, setIsPicking] = useState(false)
  useLateReconnect()
  return (
    <div className="-mt-4 mb-6 space-y-3 sm:-mt-6">
      <div className="flex min-h-10 flex-wrap items-center justify-end gap-3">
        {address === undefined ? (
          <Button isBusy={status === 'reconnecting'} onClick={() => setIsPicking(true)}>
            <Icon name="wallet" />
            Connect wallet
          </Button>
        ) : (
          <>
            <span className="flex items-center gap-2">
              <Glyph of={address} size={28} />
              <Hex hex={address} kind="address" />
              {connector !== undefined && (
                <span className="hidden text-xs text-faint sm:inline">
                  <bdi>{oneLine(connector.name, 30)}</bdi>
                </span>
              )}
            </span>
            <Button size="sm" onClick={() => setIsPicking(true)}>
              Switch wallet
            </Button>
            <Button size="sm" look="quiet" onClick={() => disconnect()}>
              Disconnect
            </Button>
          </>
        )}
      </div>
      <WrongChain />
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </div>
  )
}

function WrongChain() {
  const { chainId, status } = useConnection()
  const network = useListedNetwork()
  const { mutate: switchChain, isPending, error } = useSwitchChain()
  if (status !== 'connected' || chainId === network.chainId) return null
  return (
    <Notice
      tone="warn"
      title={`The wallet is on another chain (${chainId})`}
      action={
        <Button
          size="sm"
          isBusy={isPending}
          onClick={() => switchChain({ chainId: network.chainId })}
        >
          Switch to {network.name}
        </Button>
      }
    >
      {error === null
        ? `Listings are signed on ${network.name} (${network.chainId}). The wallet is asked to switch, and to add it if need be.`
        : describeError(error)}
    </Notice>
  )
}
