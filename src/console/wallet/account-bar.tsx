import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useConfig, useConnection, useReconnect } from 'wagmi'
import { disconnect, getConnections } from 'wagmi/actions'
import { useLocation } from 'wouter'
import { copyText } from '../components/button.js'
import { Notice } from '../components/card.js'
import { Glyph, Icon } from '../components/icons.js'
import { MenuButton } from '../components/menu.js'
import { InHeader } from '../components/shell.js'
import { say } from '../components/toast.js'
import { oneLine, shortHex } from '../format/untrusted-text.js'
import { useOtherOrigin } from './other-origin.js'
import { endSession, useSession } from './session.js'
import { useListedNetwork, WalletPicker } from './wallet-provider.js'

/** Shows the account and its menu in the header, and above the page that nothing can be signed at its address. */
export function AccountBar() {
  useLateReconnect()
  return (
    <>
      <InHeader>
        <AccountMenu />
      </InHeader>
      <div className="mb-6 empty:hidden">
        <WrongAddress />
      </div>
    </>
  )
}

/** Connects a wallet, or opens the menu of the connected account. One button for both, so that nothing moves or loses the focus. */
function AccountMenu() {
  const { address, connector, status } = useConnection()
  const { explorerUrl } = useListedNetwork()
  const { data: session } = useSession()
  const client = useQueryClient()
  const leave = useLeave()
  const [isPicking, setIsPicking] = useState(false)
  const pick = () => setIsPicking(true)
  return (
    <>
      <MenuButton
        variant={address === undefined ? 'primary' : 'secondary'}
        isBusy={status === 'reconnecting'}
        label={address === undefined ? undefined : `Account ${shortHex(address)}`}
        onClick={pick}
        heading={
          connector !== undefined && (
            <p className="px-3 py-1.5 text-xs text-muted">
              Connected with <bdi>{oneLine(connector.name, 30)}</bdi>
            </p>
          )
        }
        actions={
          address === undefined
            ? []
            : [
                { name: 'Copy address', act: () => void copyAddress(address) },
                ...(explorerUrl === null
                  ? []
                  : [
                      {
                        name: 'Show in the block explorer',
                        act: `${explorerUrl}/address/${address}`,
                      },
                    ]),
                { name: 'Switch wallet', act: pick },
                ...(session == null ? [] : [{ name: 'Sign out', act: () => signOut(client) }]),
                { name: 'Disconnect wallet', act: () => void leave() },
              ]
        }
      >
        {address === undefined ? (
          <>
            <Icon name="wallet" size={14} />
            Connect wallet
          </>
        ) : (
          <>
            <Glyph of={address} size={20} />
            <span className="font-mono">{shortHex(address)}</span>
            <Icon name="more" size={12} />
          </>
        )}
      </MenuButton>
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </>
  )
}

async function copyAddress(address: string): Promise<void> {
  say((await copyText(address)) ? 'The address is copied.' : 'The browser did not allow copying.')
}

function signOut(client: QueryClient): void {
  endSession(client)
  say('You are signed out. The wallet stays connected.')
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
      You opened {location.origin}. This directory takes signatures for {origin} only, so that no
      other site can collect them.
    </Notice>
  )
}
