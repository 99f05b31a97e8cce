import { startCountingProxy } from './counting-proxy.js'
import { compare, type Figure, line } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { type SideName, startSide } from './sides.js'

const COUNT = 1_280

/** JSON-RPC calls a payment costs at 64 connections; following the chain while waiting is included. */
export async function countChainCalls(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const path of ['/verify', '/settle'] as const) {
    const ours = await countCalls('arcus', path)
    const theirs = await countCalls('reference', path)
    figures.push(compare(`chain calls a ${path.slice(1)} at 64`, [ours], [theirs], 'calls'))
  }
  return figures
}

async function countCalls(name: SideName, path: '/verify' | '/settle'): Promise<number> {
  const proxies: Awaited<ReturnType<typeof startCountingProxy>>[] = []
  const side = await startSide(name, {
    async between(chainUrl) {
      const proxy = await startCountingProxy(chainUrl)
      proxies.push(proxy)
      return proxy.url
    },
  })
  const [proxy] = proxies
  try {
    await drive(side.url, '/verify', await signPayments(200), 16)
    const payments = await signPayments(COUNT)
    proxy?.reset()
    await drive(side.url, path, payments, 64)
    const counts = [...(proxy?.counts ?? [])].sort((a, b) => b[1] - a[1])
    line(`  ${name} ${path}: ${counts.map(([method, count]) => `${method} ${count}`).join(', ')}`)
    return counts.reduce((sum, [, count]) => sum + count, 0) / COUNT
  } finally {
    await side.stop()
    await proxy?.close()
  }
}
