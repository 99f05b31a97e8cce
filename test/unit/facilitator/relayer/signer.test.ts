import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import secp256k1 from 'secp256k1'
import { hexToBytes, parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createLocalSigner,
  createRemoteSigner,
  openSigners,
  SIGN_TIMEOUT_MS,
  type SignDigest,
  SignerError,
  trialTransaction,
} from '../../../../src/facilitator/relayer/signer.js'
import { badBehaviours, startKeyService } from '../../../support/key-service.js'

const privateKey = `0x${'7c'.repeat(32)}` as const
const { address } = privateKeyToAccount(privateKey)
const lower = address.toLowerCase() as `0x${string}`
const transaction = {
  chainId: 5042,
  nonce: 7,
  to: `0x${'36'.repeat(20)}`,
  data: '0x1234',
  gasLimit: 100_000n,
  maxFeePerGas: 60n,
  maxPriorityFeePerGas: 1n,
} as const

let keccak256: Keccak256
beforeAll(async () => {
  keccak256 = await createKeccak256()
})

const compact: SignDigest = (digest) =>
  secp256k1.ecdsaSign(digest, hexToBytes(privateKey)).signature

describe('a signer', () => {
  it('in this process has the address of its key and signs what viem reads back', async () => {
    const signer = createLocalSigner(privateKey, keccak256)
    expect(signer).toMatchObject({ address: lower, isRemote: false })
    const raw = (await signer.sign(transaction)) as `0x02${string}`
    expect(await recoverTransactionAddress({ serializedTransaction: raw })).toBe(address)
    expect(parseTransaction(raw)).toMatchObject({ nonce: 7, to: transaction.to, gas: 100_000n })
  })

  it('elsewhere gives the same transaction', async () => {
    const local = await createLocalSigner(privateKey, keccak256).sign(transaction)
    expect(await createRemoteSigner(lower, keccak256, compact).sign(transaction)).toBe(local)
  })

  it.each<[string, SignDigest, RegExp]>([
    ['over other bytes', (digest, asked) => compact(digest.toReversed(), asked), /something else/],
    ['of zeros', () => new Uint8Array(64), /something else/],
    ['beyond the curve', () => new Uint8Array(64).fill(255), /other than a signature/],
    ['of another length', () => new Uint8Array(70), /other than a signature/],
    ['that never comes', () => new Promise(() => {}), /no answer within/],
    ['that is refused', () => Promise.reject(new Error('no')), /cannot be reached, or refuses/],
  ])('takes no signature %s', async (_, sign, reason) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const signing = createRemoteSigner(lower, keccak256, sign).sign(transaction)
    const refused = signing.catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(SIGN_TIMEOUT_MS)
    expect(await refused).toBeInstanceOf(SignerError)
    expect(String(await refused)).toMatch(reason)
  })

  it('is tried with what no chain takes: its gas limit is below that of any transaction', () => {
    expect(trialTransaction(5042, lower)).toMatchObject({ gasLimit: 0n, data: '0x', to: lower })
  })
})

describe('a key service', () => {
  async function open() {
    const service = await startKeyService(privateKey)
    const relayerSigner = { url: service.url, addresses: [lower] }
    return { service, ...openSigners({ relayerPrivateKeys: [], relayerSigner }, keccak256) }
  }

  it('signs what a local key signs, and every other answer is an error', async () => {
    const { service, signers, close } = await open()
    const [signer] = signers
    try {
      expect(signer).toMatchObject({ address: lower, isRemote: true })
      const local = await createLocalSigner(privateKey, keccak256).sign(transaction)
      expect(await signer?.sign(transaction)).toBe(local)
      await signer?.sign(trialTransaction(5042, lower))
      for (const behaviour of badBehaviours) {
        // The signature asked for here is that of a payment, on which it hangs already.
        if (behaviour === 'hangs on payments') continue
        service.behaviour = behaviour
        await expect(signer?.sign(transaction), behaviour).rejects.toThrow(SignerError)
      }
      service.behaviour = 'signs'
      await service.kill()
      await expect(signer?.sign(transaction)).rejects.toThrow('cannot be reached')
      await service.revive()
      await signer?.sign(transaction)
    } finally {
      await close()
      await service.kill()
    }
  })
})
