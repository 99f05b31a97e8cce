/** The description of a wallet for pages (EIP-6963). */
export interface WalletInfo {
  uuid: string
  name: string
  rdns: string
  /** A data URI. */
  icon: string
}

export type WalletAnswer =
  | { result: unknown }
  | { error: { code: number; message: string; data?: unknown } }

declare global {
  interface Window {
    arcusTestWallet(uuid: string, method: string, params: unknown): Promise<WalletAnswer>
    arcusTestEmit(uuid: string, event: string, data: unknown): void
  }
}

/**
 * Announces wallets in the page before its own scripts run. Every answer of a wallet comes from the test through a
 * binding. The function is self-contained, because it is sent to the page as text.
 */
export function announceWallets(infos: readonly WalletInfo[]): void {
  type Listener = (data: unknown) => void
  const listeners = new Map<string, Map<string, Set<Listener>>>()

  const makeProvider = ({ uuid }: WalletInfo) => {
    const own = new Map<string, Set<Listener>>()
    listeners.set(uuid, own)
    return {
      async request({ method, params }: { method: string; params?: unknown }) {
        const answer = await window.arcusTestWallet(uuid, method, params)
        if ('result' in answer) return answer.result
        throw Object.assign(new Error(answer.error.message), answer.error)
      },
      on(event: string, listener: Listener) {
        own.set(event, (own.get(event) ?? new Set()).add(listener))
      },
      removeListener(event: string, listener: Listener) {
        own.get(event)?.delete(listener)
      },
    }
  }

  window.arcusTestEmit = (uuid, event, data) => {
    for (const listener of listeners.get(uuid)?.get(event) ?? []) listener(data)
  }
  const details = infos.map((info) => Object.freeze({ info, provider: makeProvider(info) }))
  const announce = () => {
    for (const detail of details) {
      window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
    }
  }
  window.addEventListener('eip6963:requestProvider', announce)
  announce()
}
