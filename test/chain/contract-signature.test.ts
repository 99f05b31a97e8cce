import {
  type Address,
  concatHex,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  hashMessage,
  http,
  pad,
  publicActions,
  serializeErc6492Signature,
  walletActions,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isContractSignature } from '../../src/chain/contract-wallet.js'
import { createRpc, type Rpc } from '../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import { readArtifact } from '../../src/devnet/fixtures.js'

const signer = privateKeyToAccount(generatePrivateKey())
const stranger = privateKeyToAccount(generatePrivateKey())
const hash = hashMessage('a write of a listing')

let anvil: Anvil
let rpc: Rpc
let client: ReturnType<typeof connect>
let factory: Address
let signature: Hex
let foreign: Hex

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
  rpc = createRpc([anvil.url])
  client = connect(anvil.url)
  factory = await deploy('WalletFactory')
  signature = await signer.sign({ hash })
  foreign = await stranger.sign({ hash })
})
afterAll(async () => {
  await rpc.close()
  await anvil.stop()
})

async function deploy(name: string, args: unknown[] = []): Promise<Address> {
  const { abi, bytecode } = readArtifact(name)
  const data = encodeDeployData({ abi, bytecode, args })
  const { contractAddress } = await client.waitForTransactionReceipt({
    hash: await client.sendTransaction({ data, chain: null }),
  })
  return contractAddress as Address
}

let salts = 0

/** A wallet that is not deployed yet, with a way to wrap its signatures and one to deploy it. */
async function aFutureWallet() {
  const { abi } = readArtifact('WalletFactory')
  const args = [signer.address, pad(`0x${(++salts).toString(16)}`, { size: 32 })]
  const functionName = 'predict'
  const address = await client.readContract({ address: factory, abi, functionName, args })
  const data = encodeFunctionData({ abi, functionName: 'deploy', args })
  return {
    address: address as Address,
    wrap: (inner: Hex) => serializeErc6492Signature({ address: factory, data, signature: inner }),
    deploy: async () =>
      client.waitForTransactionReceipt({
        hash: await client.sendTransaction({ to: factory, data, chain: null }),
      }),
  }
}

const isAccepted = (address: Address, signed: Hex = signature) =>
  isContractSignature(rpc, { address, hash, signature: signed })

describe('a deployed wallet', () => {
  it('is asked anew each time: it may take its yes back', async () => {
    const wallet = await deploy('Wallet1271', [signer.address])
    expect(await isAccepted(wallet)).toBe(true)
    const bytecode = readArtifact('RejectingWallet').deployedBytecode
    await client.setCode({ address: wallet, bytecode })
    expect(await isAccepted(wallet)).toBe(false)
  })

  it.each(['RejectingWallet', 'RevertingWallet', 'GasBurningWallet'])(
    'that does not say yes stands behind nothing, quickly: %s',
    async (name) => {
      const wallet = await deploy(name)
      const startedAt = Date.now()
      expect(await isAccepted(wallet)).toBe(false)
      expect(Date.now() - startedAt).toBeLessThan(3_500)
    },
  )

  it.each([
    // mstore(0, selector and rest), return(0, size)
    ['a whole word', '00', '20', true],
    ['a part of a word', '00', '04', false],
    ['more in the word', 'ff', '20', false],
  ] as const)(
    'says yes as a contract that asks would decode it: %s',
    async (_, rest, size, isYes) => {
      const wallet = await deploy('RejectingWallet')
      const bytecode = `0x7f1626ba7e${rest.repeat(28)}60005260${size}6000f3` as const
      await client.setCode({ address: wallet, bytecode })
      expect(await isAccepted(wallet)).toBe(isYes)
    },
  )

  it('may be the delegate of an account (EIP-7702)', async () => {
    const delegate = await deploy('Wallet1271', [zeroAddress])
    const bytecode = concatHex(['0xef0100', delegate])
    await client.setCode({ address: signer.address, bytecode })
    expect(await isAccepted(signer.address)).toBe(true)
    expect(await isAccepted(signer.address, foreign)).toBe(false)
    await client.setCode({ address: signer.address, bytecode: '0x' })
  })
})

describe('a wallet to be deployed', () => {
  it('stands behind a wrapped signature of its owner, before and after', async () => {
    const wallet = await aFutureWallet()
    expect(await isAccepted(wallet.address, wallet.wrap(signature))).toBe(true)
    expect(await isAccepted(wallet.address, wallet.wrap(foreign))).toBe(false)
    expect(await client.getCode({ address: wallet.address })).toBeUndefined()
    await wallet.deploy()
    expect(await isAccepted(wallet.address, wallet.wrap(signature))).toBe(true)
    expect(await isAccepted(wallet.address, wallet.wrap(foreign))).toBe(false)
    expect(await isAccepted(wallet.address)).toBe(true)
  })

  it('stands behind nothing when the wrapper makes another wallet', async () => {
    const wallet = await aFutureWallet()
    const other = await aFutureWallet()
    expect(await isAccepted(wallet.address, other.wrap(signature))).toBe(false)
  })

  it('stands behind nothing when the wrapper is broken, or its factory burns gas', async () => {
    const wallet = await aFutureWallet()
    const magic = `${'6492'.repeat(16)}`
    expect(await isAccepted(wallet.address, `0x${magic}`)).toBe(false)
    expect(await isAccepted(wallet.address, `0x${'ff'.repeat(96)}${magic}`)).toBe(false)
    const burning = await deploy('GasBurningWallet')
    const data = '0x1626ba7e'
    const wrapped = serializeErc6492Signature({ address: burning, data, signature })
    expect(await isAccepted(wallet.address, wrapped)).toBe(false)
  })
})

it('agrees with viem on every one of these', async () => {
  const { verifyHash } = client
  const deployed = await deploy('Wallet1271', [signer.address])
  const future = await aFutureWallet()
  for (const [address, signed] of [
    [deployed, signature],
    [deployed, foreign],
    [await deploy('RejectingWallet'), signature],
    [await deploy('RevertingWallet'), signature],
    [future.address, signature],
    [future.address, future.wrap(signature)],
    [future.address, future.wrap(foreign)],
  ] as const) {
    expect(await isAccepted(address, signed)).toBe(
      await verifyHash({ address, hash, signature: signed }),
    )
  }
})

it('says that the chain is out of reach, rather than no', async () => {
  const nowhere = createRpc(['http://127.0.0.1:9'])
  const asked = isContractSignature(nowhere, { address: signer.address, hash, signature })
  await expect(asked).rejects.toBeInstanceOf(RpcUnavailableError)
  await nowhere.close()
})
