import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useConfig, useConnection, useReconnect, useSwitchChain } from 'wagmi'
import { disconnect, getConnections } from 'wagmi/actions'
import { useLocation } from 'wouter'
import { settingsQuery } from '../api/queries.js'
import { Button } from '../components/button.js'
import { Glyph, Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { InHeader } from '../components/shell.js'
import { Hex } from '../components/untrusted-text.js'
import { oneLine } from '../format/untrusted-text.js'
import { endSession } from './session.js'
import { describeError } from './wallet-error.js'
import { WalletPicker } from './wallet-picker.js'
import { useListedNetwork } from './wallet-provider.js'

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

/** An extension that slept needs longer to wake than the first try allows it. */
const TRIES_MS = [700, 2_500]

/** Connects the last used wallet again when it was too slow at first. One that was disconnected stays so. */
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
      // Nobody is told of a wallet that stays silent: the button is there.
      if (connectors.length > 0) await reconnect({ connectors }).catch(() => undefined)
    }, wait)
    return () => clearTimeout(timer)
  }, [status, config, reconnect])
}

/** Where wallets may sign, when the page was opened somewhere else: the directory takes signatures for one origin only. */
export function useOtherOrigin(): string | undefined {
  const { data } = useQuery(settingsQuery)
  if (data === undefined || !URL.canParse(data.directoryUrl)) return undefined
  const { origin } = new URL(data.directoryUrl)
  return origin === location.origin ? undefined : origin
}

/** Says so before anything is typed, because drafts stay with the address they were written at. */
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
