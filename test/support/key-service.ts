import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Address, type Hex, hexToBigInt, hexToNumber } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

/** The ways in which it answers a request to sign. */
export const badBehaviours = [
  'hangs',
  'hangs on payments',
  'refuses',
  'signs something else',
  'signs with another key',
  'talks nonsense',
] as const
export type Behaviour = 'signs' | (typeof badBehaviours)[number]

/** A service that holds one key and signs with it by `eth_signTransaction`. */
export interface KeyService {
  url: string
  address: Address
  behaviour: Behaviour
  /** Requests to sign a payment so far: those for a transaction that no chain takes are not counted. */
  asked: number
  /** Settings that make this the key of a relayer. */
  settings(): NodeJS.ProcessEnv
  /** Refuses and breaks connections, as a process that died. */
  kill(): Promise<void>
  /** Takes connections again, on the same port. */
  revive(): Promise<void>
}

const STRANGER: Hex = `0x${'5a'.repeat(32)}`

export async function startKeyService(privateKey: Hex): Promise<KeyService> {
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const answer = await answerRpc(body)
    if (answer === undefined) return
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const service: KeyService = {
    url: `http://127.0.0.1:${port}`,
    address: privateKeyToAccount(privateKey).address,
    behaviour: 'signs',
    asked: 0,
    settings: () => ({
      RELAYER_SIGNER_URL: service.url,
      RELAYER_SIGNER_ADDRESSES: service.address,
    }),
    async kill() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
    async revive() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }

  const key = () => (service.behaviour === 'signs with another key' ? STRANGER : privateKey)

  async function answerRpc(body: Record<string, unknown>) {
    const { id, params } = body as { id: number; params: [Record<string, Hex>] }
    const [asked] = params
    const isPayment = asked.gas !== '0x0'
    if (isPayment) service.asked++
    const reply = (rest: object) => ({ jsonrpc: '2.0', id, ...rest })
    if (service.behaviour === 'hangs') return undefined
    if (service.behaviour === 'hangs on payments' && isPayment) return undefined
    if (service.behaviour === 'refuses') {
      return reply({ error: { code: -32000, message: 'Signing failed' } })
    }
    if (service.behaviour === 'talks nonsense') return reply({ result: '0x1234' })
    const shift = service.behaviour === 'signs something else' ? 1 : 0
    const result = await privateKeyToAccount(key()).signTransaction({
      type: 'eip1559',
      chainId: hexToNumber(asked.chainId as Hex),
      nonce: hexToNumber(asked.nonce as Hex) + shift,
      to: asked.to as Address,
      data: asked.data as Hex,
      value: hexToBigInt(asked.value as Hex),
      gas: hexToBigInt(asked.gas as Hex),
      maxFeePerGas: hexToBigInt(asked.maxFeePerGas as Hex),
      maxPriorityFeePerGas: hexToBigInt(asked.maxPriorityFeePerGas as Hex),
    })
    return reply({ result })
  }

  return service
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}
