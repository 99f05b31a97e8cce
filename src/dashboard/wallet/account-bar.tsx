import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useConfig, useConnection, useSwitchChain } from 'wagmi'
import { disconnect, getConnections } from 'wagmi/actions'
import { Button } from '../components/button.js'
import { Glyph } from '../components/glyph.js'
import { InHeader } from '../components/header-slot.js'
import { Hex } from '../components/hex.js'
import { Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { oneLine } from '../format/hostile-text.js'
import { endSession } from './session.js'
import { useLateReconnect } from './use-late-reconnect.js'
import { describeError } from './wallet-error.js'
import { WalletPicker } from './wallet-picker.js'
import { useListedNetwork } from './wallet-provider.js'
import { WrongAddress } from './wrong-address.js'

/** Who is connected, beside the navigation; on the page, what keeps the wallet from signing. */
export function AccountBar() {
  const { address, connector, status } = useConnection()
  const leave = useLeave()
  const [isPicking, setIsPicking] = useState(false)
  useLateReconnect()
  return (
    <>
      <InHeader>
        <div className="flex flex-wrap items-center gap-x-1.5 gap-y-2 sm:gap-x-2">
          {address !== undefined && (
            <span className="flex min-w-0 items-center gap-2 max-lg:mr-auto">
              <Glyph of={address} size={28} />
              <Hex hex={address} kind="address" />
              {connector !== undefined && (
                <span className="hidden text-xs text-faint xl:inline">
                  <bdi>{oneLine(connector.name, 30)}</bdi>
                </span>
              )}
            </span>
          )}
          {/* One button for both, so that the focus comes back to it. */}
          <Button
            key="pick"
            size="sm"
            look={address === undefined ? 'primary' : 'secondary'}
            isBusy={status === 'reconnecting'}
            onClick={() => setIsPicking(true)}
          >
            {address === undefined && <Icon name="wallet" size={14} />}
            {address === undefined ? 'Connect wallet' : 'Switch wallet'}
          </Button>
          {address !== undefined && (
            <Button size="sm" look="quiet" onClick={leave}>
              Disconnect
            </Button>
          )}
        </div>
      </InHeader>
      <div className="mb-6 space-y-3 empty:hidden">
        <WrongAddress />
        <WrongChain />
      </div>
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </>
  )
}

/** Leaves with every wallet that was connected: the one before would else come forward. */
function useLeave() {
  const config = useConfig()
  const client = useQueryClient()
  return async () => {
    endSession(client)
    for (const { connector } of getConnections(config)) {
      await disconnect(config, { connector }).catch(() => undefined)
    }
  }
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
