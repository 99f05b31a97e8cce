import { type Address, concatHex, type Hex, numberToHex } from 'viem'
import { vi } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { startBlockProducer } from '../../src/devnet/anvil.js'
import { devnetContracts, mintUsdc, nativeBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, type Channel, type ChannelWish, fillChannels } from './a-channel.js'
import { anAccount } from './an-account.js'
import { startWorld } from './arcus.js'

export const DOLLAR = 10n ** 18n
const BLOCK_MS = 100

/** ERC-1271 that says yes to everything. */
export const saysYes: Hex = '0x631626ba7e60e01b5f5260205ff3'

/**
 * ERC-1271 that says yes after some rounds of a loop, 26 gas each, while gas costs nothing, as in a simulation, and
 * burns all the gas it is given in a transaction.
 */
export function lies(rounds: number): Hex {
  const [ifFree, countDown] = ['0x3a15600657fe5b', '0x5b600190038060'] as const
  return concatHex([ifFree, '0x62', numberToHex(rounds, { size: 3 }), countDown, '0x0b57', saysYes])
}

/** The service on a chain with Arc's base fee of 20 gwei, ten blocks a second, and what tells what it paid for gas. */
export async function startGasWorld(env: Record<string, string> = {}) {
  const world = await startWorld({ env: { SETTLE_WAIT_SECONDS: '30', ...env } })
  const { chainUrl } = world
  await call(chainUrl, 'evm_setAutomine', [false])
  const produce = () => startBlockProducer({ url: chainUrl, intervalMs: BLOCK_MS })
  let blocks = await produce()
  // Blocks of the start are cheaper than Arc's floor, and the service reserves by the price of the last block it has seen.
  const floor = await call<Hex>(chainUrl, 'eth_blockNumber')
  await vi.waitUntil(
    async () => {
      const { networks } = (await world.get('/api/status')).body
      return networks[0].block?.number > Number(floor) + 1
    },
    { timeout: 30_000, interval: 50 },
  )

  const settle = async (body: unknown) => (await world.post('/settle', body)).body

  async function gasMoney(): Promise<bigint> {
    const held = devnetRelayers.map(({ address }) => nativeBalance(chainUrl, address))
    return (await Promise.all(held)).reduce((sum, balance) => sum + balance, 0n)
  }

  /** Returns what the relayers hold once eight blocks in a row have cost them nothing. */
  async function untilQuiet(): Promise<bigint> {
    let held = await gasMoney()
    let since = await height()
    while ((await height()) < since + 8) {
      await new Promise((resolve) => setTimeout(resolve, BLOCK_MS))
      const [now, block] = [await gasMoney(), await height()]
      if (now !== held) since = block
      held = now
    }
    return held
  }

  const height = async () => Number(await call<Hex>(chainUrl, 'eth_blockNumber'))

  /** Channels of one authorizer that hold a dollar each. */
  async function filledChannels(count: number, wish: ChannelWish = {}): Promise<Channel[]> {
    const shared = { authorizer: anAccount(), ...wish }
    const channels = Array.from({ length: count }, () => aChannel(shared))
    await fillChannels(chainUrl, channels, 1_000_000n)
    await mintUsdc(chainUrl, devnetContracts.batchSettlement, BigInt(count) * 1_000_000n)
    return channels
  }

  return {
    ...world,
    settle,
    verify: async (body: unknown) => (await world.post('/verify', body)).body,
    /** Returns the gas that all relayers paid while `act` ran and for a moment after it. */
    async gasOf(act: () => Promise<unknown>): Promise<bigint> {
      const before = await gasMoney()
      await act()
      return before - (await untilQuiet())
    },
    /** An account with this code and a thousand dollars. */
    async aWallet(code: Hex): Promise<Address> {
      const { address } = anAccount()
      await call(chainUrl, 'anvil_setCode', [address, code])
      await mintUsdc(chainUrl, address, 1_000_000_000n)
      return address
    },
    async anOpenChannel(wish: ChannelWish = {}): Promise<Channel> {
      const channel = aChannel(wish)
      if (wish.config?.payer === undefined) {
        await mintUsdc(chainUrl, channel.payer.address, 10_000_000n)
      }
      const { success } = await settle(await channel.deposit('1000000'))
      if (!success) throw new Error('the channel was not opened')
      return channel
    },
    filledChannels,
    /** No block is made while `act` runs. */
    async betweenBlocks(act: () => Promise<void>): Promise<void> {
      await blocks.stop()
      await act()
      blocks = await produce()
    },
    async stop() {
      await blocks.stop()
      await world.stop()
    },
  }
}

export type GasWorld = Awaited<ReturnType<typeof startGasWorld>>
