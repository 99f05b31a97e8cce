import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import secp256k1 from 'secp256k1'
import { type Address, type Hex, hexToBigInt, hexToBytes, hexToNumber } from 'viem'
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

/** A service that holds one key and signs with it, both as AWS KMS and by `eth_signTransaction`. */
export interface KeyService {
  url: string
  address: Address
  behaviour: Behaviour
  /** Requests to sign a payment so far: those for a transaction that no chain takes are not counted. */
  asked: number
  /** Settings that make this the key of a relayer. */
  settings(kind: 'JSON-RPC' | 'KMS'): NodeJS.ProcessEnv
  /** Refuses and breaks connections, as a process that died. */
  kill(): Promise<void>
  /** Takes connections again, on the same port. */
  revive(): Promise<void>
}

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** The DER form of a public key of the curve, without the point. */
const KEY_PREFIX = '3056301006072a8648ce3d020106052b8104000a034200'
const STRANGER: Hex = `0x${'5a'.repeat(32)}`

export async function startKeyService(privateKey: Hex): Promise<KeyService> {
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const target = String(request.headers['x-amz-target'] ?? '')
    const answer = target === '' ? await answerRpc(body) : answerKms(target, body)
    if (answer === undefined) return
    const [status, type] = target === '' ? [200, 'application/json'] : [answer.status ?? 200, AMZ]
    response.writeHead(status as number, { 'content-type': type as string })
    response.end(JSON.stringify(answer.body))
  })
  const AMZ = 'application/x-amz-json-1.1'
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const service: KeyService = {
    url: `http://127.0.0.1:${port}`,
    address: privateKeyToAccount(privateKey).address,
    behaviour: 'signs',
    asked: 0,
    settings: (kind) =>
      kind === 'JSON-RPC'
        ? { RELAYER_SIGNER_URL: service.url, RELAYER_SIGNER_ADDRESSES: service.address }
        : {
            RELAYER_KMS_KEY_IDS: 'alias/arcus',
            AWS_ENDPOINT_URL_KMS: service.url,
            AWS_REGION: 'eu-central-1',
            AWS_ACCESS_KEY_ID: 'id',
            AWS_SECRET_ACCESS_KEY: 'secret',
          },
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
    const reply = (rest: object) => ({ status: 200, body: { jsonrpc: '2.0', id, ...rest } })
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

  function answerKms(target: string, body: Record<string, unknown>) {
    const KeyId = String(body.KeyId)
    if (target === 'TrentService.GetPublicKey') {
      const point = secp256k1.publicKeyCreate(hexToBytes(privateKey), false)
      const PublicKey = Buffer.concat([Buffer.from(KEY_PREFIX, 'hex'), point]).toString('base64')
      const about = { KeySpec: 'ECC_SECG_P256K1', KeyUsage: 'SIGN_VERIFY' }
      return { body: { KeyId, PublicKey, ...about } }
    }
    // It sees a digest only, so it cannot tell payments from trials.
    service.asked++
    if (service.behaviour.startsWith('hangs')) return undefined
    if (service.behaviour === 'refuses') {
      const refusal = { __type: 'KMSInvalidStateException', message: 'the key is disabled' }
      return { status: 400, body: refusal }
    }
    const Signature =
      service.behaviour === 'talks nonsense'
        ? Buffer.from('nonsense').toString('base64')
        : Buffer.from(highS(signDigest(String(body.Message)))).toString('base64')
    return { body: { KeyId, Signature, SigningAlgorithm: 'ECDSA_SHA_256' } }
  }

  function signDigest(message: string): Uint8Array {
    const digest = Buffer.from(message, 'base64')
    if (service.behaviour === 'signs something else') digest.reverse()
    return secp256k1.ecdsaSign(Uint8Array.from(digest), hexToBytes(key())).signature
  }

  return service
}

/** Returns the DER form of the twin with a high `s`, as KMS gives it half of the time. */
function highS(compact: Uint8Array): Uint8Array {
  const s = ORDER - BigInt(`0x${Buffer.from(compact.subarray(32)).toString('hex')}`)
  const twin = Buffer.concat([
    compact.subarray(0, 32),
    Buffer.from(s.toString(16).padStart(64, '0'), 'hex'),
  ])
  return secp256k1.signatureExport(Uint8Array.from(twin))
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}
