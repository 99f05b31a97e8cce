import {
  ExactEvmScheme,
  PERMIT2_ADDRESS,
  UptoEvmScheme,
  x402ExactPermit2ProxyABI,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyABI,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm'
import {
  type Abi,
  type Address,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  parseSignature,
  publicActions,
  toEventSelector,
  toFunctionSelector,
  walletActions,
} from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import {
  devnetContracts,
  fundNative,
  mintUsdc,
  placeContracts,
  readArtifact,
  usdcBalance,
} from '../../src/devnet/fixtures.js'
import { anAccount } from '../support/a-channel.js'
import { nowSeconds } from '../support/a-signed-payment.js'

const { permit2, exactPermit2Proxy, uptoPermit2Proxy, usdc } = devnetContracts
const relayer = devnetRelayers[0]?.address as Address
const chainId = 5042
let anvil: Anvil
let client: ReturnType<typeof connect>

const connect = (url: string) =>
  createTestClient({
    mode: 'anvil',
    account: devnetPayer.account,
    transport: http(url),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions)

beforeAll(async () => {
  anvil = await startAnvil()
  client = connect(anvil.url)
  await placeContracts(anvil.url)
})
afterAll(() => anvil?.stop())

type Signed = {
  signature: Hex
  permit2Authorization: {
    permitted: { token: Address; amount: string }
    nonce: string
    deadline: string
    witness: { to: Address; validAfter: string; facilitator: Address }
  }
}

/** A payment of 1,000 atomic units, or up to so many, signed by the official client. */
async function signed(scheme: 'exact' | 'upto', payer: ReturnType<typeof anAccount>, to: Address) {
  const official = scheme === 'exact' ? new ExactEvmScheme(payer) : new UptoEvmScheme(payer)
  const { payload } = await official.createPaymentPayload(2, {
    scheme,
    network: `eip155:${chainId}`,
    amount: '1000',
    asset: usdc,
    payTo: to,
    maxTimeoutSeconds: 60,
    extra: {
      name: 'USDC',
      version: '2',
      assetTransferMethod: 'permit2',
      facilitatorAddress: relayer,
    },
  })
  return payload as unknown as Signed
}

function permitOf({ permit2Authorization }: Signed) {
  const { permitted, nonce, deadline } = permit2Authorization
  return {
    permitted: { token: permitted.token, amount: BigInt(permitted.amount) },
    nonce: BigInt(nonce),
    deadline: BigInt(deadline),
  }
}

async function send(from: Address, to: Address, data: Hex) {
  await fundNative(anvil.url, from, 10n ** 18n)
  await client.impersonateAccount({ address: from })
  const hash = await client.sendTransaction({ account: from, to, data, chain: null })
  const receipt = await client.waitForTransactionReceipt({ hash })
  expect(receipt.status).toBe('success')
  return receipt
}

async function aPayer() {
  const payer = anAccount()
  await mintUsdc(anvil.url, payer.address, 1_000n)
  return payer
}

function approve(payer: Address) {
  const { abi } = readArtifact('MockUsdc')
  const args = [permit2, 1_000n]
  return send(payer, usdc, encodeFunctionData({ abi, functionName: 'approve', args }))
}

/** The gasless approval that the official extension describes. */
async function aPermit(payer: ReturnType<typeof anAccount>, value = 1_000n) {
  const deadline = nowSeconds() + 60n
  const fields = ['owner', 'spender', 'value', 'nonce', 'deadline']
  const signature = await payer.signTypedData({
    domain: { name: 'USDC', version: '2', chainId, verifyingContract: usdc },
    types: {
      Permit: fields.map((name, index) => ({ name, type: index < 2 ? 'address' : 'uint256' })),
    },
    primaryType: 'Permit',
    message: { owner: payer.address, spender: permit2, value, nonce: 0n, deadline },
  })
  const { r, s, v } = parseSignature(signature)
  return { value, deadline, r, s, v: Number(v) }
}

const signatures = (abi: Abi) =>
  abi.flatMap((item) => {
    if (item.type === 'function') return [`${item.name} ${toFunctionSelector(item)}`]
    return item.type === 'event' ? [`${item.name} ${toEventSelector(item)}`] : []
  })

it('stands at the addresses and has the calls and events of the official package', () => {
  expect([permit2, exactPermit2Proxy, uptoPermit2Proxy]).toEqual([
    PERMIT2_ADDRESS,
    x402ExactPermit2ProxyAddress,
    x402UptoPermit2ProxyAddress,
  ])
  const exact = signatures(readArtifact('ExactPermit2Proxy').abi)
  const upto = signatures(readArtifact('UptoPermit2Proxy').abi)
  expect(exact).toEqual(expect.arrayContaining(signatures(x402ExactPermit2ProxyABI)))
  expect(upto).toEqual(expect.arrayContaining(signatures(x402UptoPermit2ProxyABI)))
})

it('settles an exact payment of the official client, from any sender', async () => {
  const [payer, merchant, stranger] = [await aPayer(), anAccount().address, anAccount().address]
  await approve(payer.address)
  const payment = await signed('exact', payer, merchant)
  const { witness } = payment.permit2Authorization
  const args = [permitOf(payment), payer.address, witness, payment.signature]
  const { abi } = readArtifact('ExactPermit2Proxy')
  const data = encodeFunctionData({ abi, functionName: 'settle', args })
  const { logs } = await send(stranger, exactPermit2Proxy, data)
  expect(await usdcBalance(anvil.url, merchant)).toBe(1_000n)
  expect(logs.at(-1)).toMatchObject({
    address: exactPermit2Proxy.toLowerCase(),
    topics: [toEventSelector('Settled()')],
  })
  await expect(client.call({ to: exactPermit2Proxy, data, account: stranger })).rejects.toThrow(
    toFunctionSelector('InvalidNonce()'),
  )
})

it('settles less than the ceiling with a gasless approval, for the named wallet alone', async () => {
  const [payer, merchant] = [await aPayer(), anAccount().address]
  const payment = await signed('upto', payer, merchant)
  const { witness } = payment.permit2Authorization
  const { abi } = readArtifact('UptoPermit2Proxy')
  const call = async (amount: bigint) => {
    const rest = [permitOf(payment), amount, payer.address, witness, payment.signature]
    const args = [await aPermit(payer), ...rest]
    return encodeFunctionData({ abi, functionName: 'settleWithPermit', args })
  }
  const to = uptoPermit2Proxy
  await expect(
    client.call({ to, data: await call(400n), account: anAccount().address }),
  ).rejects.toThrow(toFunctionSelector('UnauthorizedFacilitator()'))
  await expect(client.call({ to, data: await call(1_001n), account: relayer })).rejects.toThrow(
    toFunctionSelector('AmountExceedsPermitted()'),
  )
  const { logs } = await send(relayer, to, await call(400n))
  expect(await usdcBalance(anvil.url, merchant)).toBe(400n)
  expect(await usdcBalance(anvil.url, payer.address)).toBe(600n)
  expect(logs.at(-1)?.topics).toEqual([toEventSelector('SettledWithPermit()')])
})

it('reports that a gasless approval failed, and settles by the allowance that is there', async () => {
  const [payer, merchant] = [await aPayer(), anAccount().address]
  await approve(payer.address)
  const payment = await signed('exact', payer, merchant)
  const { witness } = payment.permit2Authorization
  const wrong = { ...(await aPermit(payer)), r: `0x${'11'.repeat(32)}` as Hex }
  const args = [wrong, permitOf(payment), payer.address, witness, payment.signature]
  const { abi } = readArtifact('ExactPermit2Proxy')
  const data = encodeFunctionData({ abi, functionName: 'settleWithPermit', args })
  const { logs } = await send(relayer, exactPermit2Proxy, data)
  const failed = toEventSelector('EIP2612PermitFailedWithReason(address,address,string)')
  expect(logs.map(({ topics }) => topics[0])).toContain(failed)
  expect(await usdcBalance(anvil.url, merchant)).toBe(1_000n)
})
