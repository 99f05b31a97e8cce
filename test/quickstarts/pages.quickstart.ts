import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Block, readPage, root } from './page.js'
import { isListening, openFolder, removeFolder, run, start, until } from './shell.js'

const ports = [3000, 4021, 4022, 8545]
let devnet: ReturnType<typeof start>
let folder: string | undefined

beforeAll(async () => {
  for (const port of ports) {
    if (await isListening(port)) throw new Error(`port ${port} is in use; the pages need it`)
  }
  devnet = start('npm run dev', root)
  await until(
    () => {
      if (devnet.child.exitCode !== null) throw new Error(devnet.printed())
      return devnet.printed().includes('Arcus is running') && isListening(4022)
    },
    () => `npm run dev did not start:\n${devnet.printed()}`,
  )
})
afterAll(() => devnet?.stop())
afterEach(() => {
  if (folder !== undefined) removeFolder(folder)
  folder = undefined
})

const commands = (blocks: readonly Block[]) =>
  blocks.filter(({ kind }) => kind === 'command').map(({ text }) => text)

describe('docs/quickstarts/sell.md', () => {
  const page = readPage('sell')
  const [pay = ''] = commands(page.get('Pay it') ?? [])
  const shops = [...page].filter(([, blocks]) => blocks.some(({ kind }) => kind === 'file'))

  it.each(shops)('%s sells a quote, and the catalog lists it', async (_, blocks) => {
    folder = openFolder(blocks)
    const [install = '', serve = '', ...others] = commands(blocks)
    expect(others).toEqual([])
    await run(install, folder, { ARCUS: root })
    const shop = start(serve, folder)
    try {
      await until(
        () => isListening(3000),
        () => `the shop did not start:\n${shop.printed()}`,
      )
      const unpaid = await fetch('http://localhost:3000/quote')
      expect(unpaid.status, shop.printed()).toBe(402)
      expect(await run(pay, root)).toContain('200 OK')
      await until(
        async () => (await listed()).includes('http://localhost:3000/quote'),
        () => 'the catalog does not list the shop',
        15_000,
      )
    } finally {
      await shop.stop()
    }
    await until(
      async () => !(await isListening(3000)),
      () => 'the shop did not end',
    )
  })
})

describe('docs/quickstarts/buy.md', () => {
  const page = readPage('buy')
  const [key = ''] = commands([...page.values()][0] ?? [])

  it.each([...page].slice(1))('%s pays the sample API', async (_, blocks) => {
    folder = openFolder(blocks)
    const [install = '', buy = ''] = commands(blocks)
    await run(install, folder)
    const printed = await run(`${key}\n${buy}`, folder)
    expect(printed).toMatch(/^200 \{"quote":".+"\}$/m)
    expect(printed).toMatch(/^paid in 0x[0-9a-f]{64}$/m)
  })
})

it('docs/quickstarts/agent.md finds the cheapest sample, and pays it', async () => {
  const page = readPage('agent')
  const [key = ''] = commands([...page.values()][0] ?? [])
  const blocks = page.get('Search and pay') ?? []
  folder = openFolder(blocks)
  const [install = '', search = ''] = commands(blocks)
  await run(install, folder)
  const printed = await run(`${key}\n${search}`, folder)
  expect(printed).toContain('found http://localhost:4021/hosted/fees for 5000 atomic units')
  expect(printed).toMatch(/^paid in 0x[0-9a-f]{64}$/m)
})

it('docs/quickstarts/curl.md asks, signs, verifies, settles and looks up', async () => {
  folder = openFolder([])
  const steps = [...readPage('curl').values()].flatMap(commands)
  expect(steps).toHaveLength(5)
  const here = (step: string) => step.replaceAll('payment.json', `${folder}/payment.json`)
  const printed: string[] = []
  for (const step of steps) printed.push(await run(here(step), root))
  const [terms, , verified, settled, found] = printed.map((text) => text && JSON.parse(text))
  expect(terms.accepts[0]).toMatchObject({ amount: '10000', network: 'eip155:5042' })
  expect(verified).toMatchObject({ isValid: true })
  expect(settled).toMatchObject({ success: true })
  expect(found).toMatchObject({ state: 'confirmed', transaction: settled.transaction })
})

async function listed(): Promise<string[]> {
  const payTo = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
  const answer = await fetch(`http://localhost:4021/discovery/resources?limit=100&payTo=${payTo}`)
  const { items } = (await answer.json()) as { items: { resource: string }[] }
  return items.map(({ resource }) => resource)
}
