import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useConfig, useConnection, useReconnect, useSwitchChain } from 'wagmi'
import { disconnect, getConnections } from 'wagmi/actions'
import { useLocation } from 'wouter'
import { Button } from '../components/button.js'
import { Glyph, Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { InHeader } from '../components/shell.js'
import { Hex } from '../components/untrusted-text.js'
import { oneLine } from '../format/untrusted-text.js'
import { endSession } from './session.js'
import { useOtherOrigin } from './signing.js'
import { describeError } from './wallet-error.js'
import { WalletPicker } from './wallet-picker.js'
import { useListedNetwork } from './wallet-provider.js'

/** Shows the connected account in the header, and above the page the reasons why the wallet cannot sign. */
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
          {/* One button for both texts, so that the focus returns to it. */}
          <Button
            key="pick"
            size="sm"
            variant={address === undefined ? 'primary' : 'secondary'}
            isBusy={status === 'reconnecting'}
            onClick={() => setIsPicking(true)}
          >
            {address === undefined && <Icon name="wallet" size={14} />}
            {address === undefined ? 'Connect wallet' : 'Switch wallet'}
          </Button>
          {address !== undefined && (
            <Button size="sm" variant="quiet" onClick={leave}>
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

/** Disconnects every wallet: otherwise an earlier one would take the place of the last. */
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
        ? `Listings are signed on ${network.name} (${network.chainId}). Arcus asks the wallet to switch, and to add the chain if it is missing.`
        : describeError(error)}
    </Notice>
  )
}

/** Waits before each new try, because a sleeping extension needs longer than the first try allows. */
const TRIES_MS = [700, 2_500]

/** Connects the last used wallet again if it was too slow at first. A wallet that was disconnected stays so. */
function useLateReconnect(): void {
  const config = useConfig()
  const { status } = useConnection()
  const { mutateAsync: reconnect } = useReconnect()
  const tries = useRef(0)

  useEffect(() => {
    const wait = TRIES_MS[tries.current]
    if (status !== 'disconnected' || wait === undefined) return
    const timer = setTimeout(async () => {
      tries.current += 1
      const last = await config.storage?.getItem('recentConnectorId')
      const connectors = config.connectors.filter(({ id }) => id === last)
      // A wallet that stays silent is no error: the button is there.
      if (connectors.length > 0) await reconnect({ connectors }).catch(() => undefined)
    }, wait)
    return () => clearTimeout(timer)
  }, [status, config, reconnect])
}

/** Warns before anything is typed, because a draft stays at the address where it was written. */
function WrongAddress() {
  const origin = useOtherOrigin()
  const [path] = useLocation()
  if (origin === undefined) return null
  return (
    <Notice
      tone="warn"
      title="Nothing can be signed at this address"
      action={
        <a
          href={origin + path + location.search}
          className="inline-flex h-8 items-center rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium text-ink hover:bg-sunken"
        >
          Open it at {new URL(origin).host}
        </a>
      }
    >
      You opened {location.origin}, and this directory accepts signatures made for {origin} only, so
      that no other site can collect them.
    </Notice>
  )
}
