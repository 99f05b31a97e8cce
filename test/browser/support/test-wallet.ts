import { randomUUID } from 'node:crypto'
import { type Address, getAddress, type Hex, toHex } from 'viem'
import type { LocalAccount } from 'viem/accounts'
import { call } from '../../../src/devnet/rpc.js'
import { sendAs } from '../../support/a-permit2-payment.js'
import type { WalletAnswer, WalletInfo } from './injected-wallets.js'

export interface TestWalletOptions {
  name: string
  /** The account that signs: for a contract wallet, its owner. */
  account: LocalAccount
  /** The address of the wallet: the account's own, or that of a contract (ERC-1271). */
  address?: Address
  /** The first chain, Arc by default. */
  chainId?: number
  /** Other chains that it knows. */
  knows?: readonly number[]
  /** The node of its chain, for what it reads and sends. */
  node?: string
}

/** A wallet that a test controls. */
export interface TestWallet {
  info: WalletInfo
  address: Address
  /** Every request the page made, in order. */
  requests: { method: string; params: unknown }[]
  /** The typed data that it signed. */
  signed: { domain: { chainId: number }; primaryType: string; message: Record<string, string> }[]
  chainId(): number
  /** Makes the person refuse the next request of this method. */
  rejectNext(method: string): void
  /** Makes the next request of this method wait. Returns the function that releases it. */
  holdNext(method: string): () => void
  /** Changes chain or account as the person does in the wallet. */
  switchTo(chainId: number): void
  useAddress(address: Address): void
  /** Hides all accounts from the page. */
  lock(): void
  handle(method: string, params: unknown): Promise<WalletAnswer>
  /** Set by `openPage`. */
  onEvent: (event: string, data: unknown) => void
}

const icon =
  'data:image/svg+xml;base64,' +
  Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><circle cx="16" cy="16" r="15" fill="#7a6ff0"/></svg>',
  ).toString('base64')

class WalletError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Makes a wallet that answers like common extension wallets: it refuses typed data of another chain than the active one. */
export function createTestWallet(options: TestWalletOptions): TestWallet {
  const { name, account } = options
  const rejected: string[] = []
  const held = new Map<string, Promise<void>>()
  const known = new Set([1, ...(options.knows ?? []), options.chainId ?? 5042])
  let chainId = options.chainId ?? 5042
  let address = getAddress(options.address ?? account.address)
  let isConnected = false
  const requests: TestWallet['requests'] = []
  const signed: TestWallet['signed'] = []

  function setChain(next: number): null {
    chainId = next
    wallet.onEvent('chainChanged', toHex(next))
    return null
  }

  async function addChain([chain]: [{ chainId: Hex; rpcUrls: string[] }]): Promise<null> {
    const [rpcUrl] = chain.rpcUrls
    const chainId = await askChainId(rpcUrl as string)
    if (Number(chainId) !== Number(chain.chainId)) {
      throw new WalletError(-32602, `The RPC URL returned the chain id ${chainId}.`)
    }
    known.add(Number(chain.chainId))
    return setChain(Number(chain.chainId))
  }

  async function signTypedData([, json]: [Address, string]): Promise<Hex> {
    const typed = JSON.parse(json)
    if (Number(typed.domain.chainId) !== chainId) {
      const { chainId: wanted } = typed.domain
      throw new WalletError(
        -32603,
        `Provided chainId "${wanted}" must match the active chainId "${chainId}"`,
      )
    }
    signed.push(typed)
    return account.signTypedData(typed)
  }

  const node = () => {
    if (options.node === undefined) throw new WalletError(4200, 'This wallet has no node.')
    return options.node
  }

  const methods: Record<string, (params: never) => unknown> = {
    eth_call: (params: unknown[]) => call(node(), 'eth_call', params),
    eth_sendTransaction: ([{ from, to, data }]: [{ from: Address; to: Address; data: Hex }]) =>
      sendAs(node(), from, to, data),
    eth_requestAccounts() {
      isConnected = true
      return [address]
    },
    eth_accounts: () => (isConnected ? [address] : []),
    eth_chainId: () => toHex(chainId),
    net_version: () => String(chainId),
    wallet_requestPermissions() {
      isConnected = true
      return [{ parentCapability: 'eth_accounts', caveats: [{ value: [address] }] }]
    },
    wallet_revokePermissions() {
      isConnected = false
      return null
    },
    wallet_switchEthereumChain([chain]: [{ chainId: Hex }]) {
      if (known.has(Number(chain.chainId))) return setChain(Number(chain.chainId))
      throw new WalletError(4902, `Unrecognized chain ID "${chain.chainId}".`)
    },
    wallet_addEthereumChain: addChain,
    eth_signTypedData_v4: signTypedData,
    personal_sign: ([message]: [Hex]) => account.signMessage({ message: { raw: message } }),
  }

  const wallet: TestWallet = {
    info: {
      uuid: randomUUID(),
      name,
      rdns: `example.${name.toLowerCase().replace(/\W+/g, '-')}`,
      icon,
    },
    get address() {
      return address
    },
    requests,
    signed,
    chainId: () => chainId,
    rejectNext: (method) => void rejected.push(method),
    holdNext(method) {
      let release = () => {}
      held.set(
        method,
        new Promise((resolve) => {
          release = resolve
        }),
      )
      return () => release()
    },
    switchTo: setChain,
    useAddress(next) {
      address = getAddress(next)
      wallet.onEvent('accountsChanged', [address])
    },
    lock() {
      isConnected = false
      wallet.onEvent('accountsChanged', [])
    },
    async handle(method, params) {
      requests.push({ method, params })
      await held.get(method)
      held.delete(method)
      const index = rejected.indexOf(method)
      if (index >= 0) {
        rejected.splice(index, 1)
        return { error: { code: 4001, message: 'User rejected the request.' } }
      }
      const answer = methods[method]
      if (answer === undefined) {
        return { error: { code: 4200, message: `The method ${method} is not supported.` } }
      }
      try {
        return { result: await answer(params as never) }
      } catch (error) {
        const { code = -32603, message } = error as WalletError
        return { error: { code, message } }
      }
    },
    onEvent: () => {},
  }
  return wallet
}

async function askChainId(rpcUrl: string): Promise<string> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
  })
  return ((await response.json()) as { result: string }).result
}
