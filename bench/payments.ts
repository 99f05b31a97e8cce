import { randomBytes } from 'node:crypto'
import {
  computeDomainSeparator,
  createAuthorizationDigest,
} from '@arcus/protocol/x402/authorization-digest'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import secp256k1 from 'secp256k1'
import { bytesToHex, type Hex, hexToBytes, numberToHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { devnetMerchant, devnetPayer } from '../src/devnet/accounts.js'
import { devnetContracts } from '../src/devnet/fixtures.js'

/** A request body with the nonce of its authorization, by which the chain knows it. */
export interface SignedPayment {
  nonce: Hex
  body: string
}

const asset = devnetContracts.usdc
const requirement = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '1',
  asset,
  payTo: devnetMerchant.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

export type Payer = Pick<typeof devnetPayer, 'address' | 'privateKey'>

/** Makes so many payers, the same in each run. */
export function makePayers(count: number): Payer[] {
  return Array.from({ length: count }, (_, i) => {
    const privateKey = numberToHex(0xc0_ffee_00 + i, { size: 32 })
    return { privateKey, address: privateKeyToAddress(privateKey) }
  })
}

/** Signs fresh payments ahead of the measurement; the payers take turns. */
export async function signPayments(
  count: number,
  payers: readonly Payer[] = [devnetPayer],
): Promise<SignedPayment[]> {
  const keccak256 = await createKeccak256()
  const digestOf = createAuthorizationDigest(keccak256)
  const domain = computeDomainSeparator(keccak256, {
    name: 'USDC',
    version: '2',
    chainId: 5042,
    verifyingContract: asset,
  })
  const keys = payers.map(({ privateKey }) => hexToBytes(privateKey))
  const validBefore = BigInt(Math.floor(Date.now() / 1000) + 3_600)
  return Array.from({ length: count }, (_, i) => {
    const nonce = bytesToHex(randomBytes(32))
    const authorization = {
      from: (payers[i % payers.length] as Payer).address,
      to: devnetMerchant.address,
      value: 1n,
      validAfter: 0n,
      validBefore,
      nonce,
    }
    const signed = secp256k1.ecdsaSign(
      digestOf(domain, authorization),
      keys[i % keys.length] as Uint8Array,
    )
    const v = signed.recid === 0 ? '1b' : '1c'
    const wire = { ...authorization, value: '1', validAfter: '0', validBefore: `${validBefore}` }
    const payload = { signature: `${bytesToHex(signed.signature)}${v}`, authorization: wire }
    const body = JSON.stringify({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: requirement, payload },
      paymentRequirements: requirement,
    })
    return { nonce, body }
  })
}
