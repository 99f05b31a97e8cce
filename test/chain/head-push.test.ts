import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { BlockFeed } from '../../src/chain/blocks.js'
import { HeadPush } from '../../src/chain/head-push.js'
import { createRpc } from '../../src/chain/rpc.js'
import { startAnvil } from '../../src/devnet/anvil.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A chain with a block every half second, a feed over it, and the calls for a head that the feed makes. */
async function startFeed() {
  const chain = await startAnvil({ mining: 0.5 })
  closing.push(() => chain.stop())
  let asked = 0
  const rpc = createRpc([chain.url], ({ methods }) => {
    asked += methods.filter((method) => method === 'eth_getBlockByNumber').length
  })
  closing.push(() => rpc.close())
  const feed = new BlockFeed(rpc)
  const seen: number[] = []
  feed.onBlock(({ number }) => seen.push(number))
  await feed.start()
  closing.push(() => feed.stop())
  const during = async (ms: number) => {
    const [before, blocks] = [asked, seen.length]
    await sleep(ms)
    return { asked: asked - before, blocks: seen.length - blocks }
  }
  return { feed, during, seen, pushUrl: chain.url.replace('http', 'ws') }
}

it('asks for a block when a node says that there is one, and hardly ever besides', async () => {
  const { feed, during, seen, pushUrl } = await startFeed()
  const push = new HeadPush([pushUrl], (number) => feed.tell(number))
  push.start()
  closing.push(() => push.stop())
  feed.setBusy(true)
  await sleep(2_000)
  const { asked, blocks } = await during(4_000)
  expect(blocks).toBeGreaterThanOrEqual(7)
  expect(asked / blocks).toBeLessThan(4)
  expect(seen).toEqual(seen.map((_, i) => (seen[0] as number) + i))
})

it('asks at most some more for a node that tells of blocks which do not exist', async () => {
  const { feed, during, seen } = await startFeed()
  feed.setBusy(true)
  const alone = await during(3_000)
  let told = 1_000_000
  const lie = setInterval(() => feed.tell(told++), 1)
  const lied = await during(6_000)
  clearInterval(lie)
  expect(lied.blocks).toBeGreaterThanOrEqual(11)
  expect(lied.asked).toBeLessThan(alone.asked * 2 * 3)
  expect(seen.at(-1)).toBeLessThan(1_000)
})

it('goes on without a node that says nothing or is not there', async () => {
  const { feed, during } = await startFeed()
  const push = new HeadPush(['ws://127.0.0.1:1'], (number) => feed.tell(number))
  push.start()
  closing.push(() => push.stop())
  feed.setBusy(true)
  const { blocks } = await during(3_000)
  expect(blocks).toBeGreaterThanOrEqual(5)
})
