import { afterEach, describe, expect, it } from 'vitest'
import { createRpc, type Rpc, type RpcObserver } from '../../../src/chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import {
  aNode,
  type Behaviour,
  dropping,
  echo,
  failing,
  hanging,
  type Node,
  saying,
} from './a-node.js'

const nodes: Node[] = []
const clients: Rpc[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const node of nodes.splice(0)) await node.close()
})

async function open(...behaviours: Behaviour[]) {
  const opened = await Promise.all(behaviours.map(aNode))
  nodes.push(...opened)
  return { rpc: connect(opened.map(({ url }) => url)), nodes: opened as [Node, ...Node[]] }
}

function connect(urls: readonly string[], observe?: RpcObserver): Rpc {
  const rpc = createRpc(urls, observe)
  clients.push(rpc)
  return rpc
}

const ask = (rpc: Rpc, timeoutMs = 1_000) => rpc.request('eth_chainId', [], { timeoutMs })
const counts = (of: Node[]) => of.map(({ requests }) => requests.length)

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.unreachable('it was answered'),
    (error: Error) => error,
  )
}

describe('one node', () => {
  it('is asked over one connection after another, with its path', async () => {
    const { rpc, nodes } = await open((calls, request) => ({
      id: calls[0]?.id,
      result: [request.url, request.headers['content-type']],
    }))
    expect(await ask(rpc)).toEqual(['/v1/secret-key', 'application/json'])
    expect(counts(nodes)).toEqual([1])
  })

  it('is given the user name and password of its URL', async () => {
    const { nodes } = await open((calls, request) => ({
      id: calls[0]?.id,
      result: request.headers.authorization,
    }))
    const rpc = connect([nodes[0].url.replace('http://', 'http://ada:p%40ss@')])
    expect(await ask(rpc)).toBe(`Basic ${Buffer.from('ada:p@ss').toString('base64')}`)
  })

  it('throws what the node answers, with code and data, without a second try', async () => {
    const { rpc, nodes } = await open(failing(3, 'execution reverted', '0xab'))
    const error = await errorOf(ask(rpc))
    expect(error).toBeInstanceOf(RpcResponseError)
    expect(error).toMatchObject({ code: 3, message: 'execution reverted', data: '0xab' })
    expect(counts(nodes)).toEqual([1])
  })

  it('that is a web page is called one', async () => {
    const { rpc } = await open((_calls, _request, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      response.end('<!doctype html><title>A page</title>')
      return undefined
    })
    const error = await errorOf(ask(rpc))
    expect(error).toBeInstanceOf(RpcUnavailableError)
    expect(error.message).toContain('answered with a web page: it is no JSON-RPC node')
  })

  it('is tried again when it failed fast, as a restarted one does', async () => {
    const { rpc, nodes } = await open(dropping)
    await expect(ask(rpc)).rejects.toBeInstanceOf(RpcUnavailableError)
    expect(counts(nodes)).toEqual([3])
    let isFirst = true
    nodes[0].behave((calls, request, response) => {
      const behaviour = isFirst ? dropping : echo
      isFirst = false
      return behaviour(calls, request, response)
    })
    expect(await ask(rpc)).toBe('eth_chainId')
  })

  it('that hangs is given up after the timeout, once', async () => {
    const { rpc, nodes } = await open(hanging)
    const startedAt = performance.now()
    const error = await errorOf(ask(rpc, 600))
    const ms = performance.now() - startedAt
    expect(error).toBeInstanceOf(RpcUnavailableError)
    expect(error.message).toBe('the chain node did not answer within 600 ms')
    expect(ms).toBeGreaterThan(580)
    expect(ms).toBeLessThan(1_100)
    expect(counts(nodes)).toEqual([1])
  })

  it('that sends its answer a byte at a time is given up as well', async () => {
    const { rpc } = await open((_calls, _request, response) => {
      response.write('{"id":')
      const timer = setInterval(() => response.write(' '), 50)
      response.on('close', () => clearInterval(timer))
      return undefined
    })
    expect(await errorOf(ask(rpc, 600))).toBeInstanceOf(RpcUnavailableError)
  })

  it.each([
    ['no JSON', saying('<html>Bad gateway</html>', 502)],
    ['nothing', saying('')],
    ['null', saying('null')],
    ['an empty list', saying('[]')],
    ['no result', saying('{"jsonrpc":"2.0"}')],
    ['a rate limit', failing(-32_005, 'slow down')],
    ['a rate limit by code', failing(429, 'slow down')],
    ['a quota in words', failing(-32029, 'You have exceeded your plan')],
    ['a refusal by status', saying('{"id":1,"error":{"code":-32000,"message":"no key"}}', 401)],
    ['a rate limit by words', failing(-32_000, 'Too Many Requests')],
    [
      'a block it does not hold (anvil)',
      failing(-32_602, 'BlockOutOfRangeError: block height is 5'),
    ],
    ['a block it does not hold (geth)', failing(-32_000, 'header not found')],
    ['a timeout of its own', failing(-32_000, 'request timed out')],
  ])('that answers %s could not be asked', async (_, behaviour) => {
    const { rpc, nodes } = await open(behaviour)
    const error = await errorOf(ask(rpc))
    expect(error).toBeInstanceOf(RpcUnavailableError)
    expect(counts(nodes)).toEqual([3])
  })

  it('is asked again when its error says nothing about the call, and believed when it repeats it', async () => {
    const trouble = failing(-32_029, 'over the plan')
    const { rpc, nodes } = await open((calls, request, response) =>
      (nodes[0].requests.length < 3 ? trouble : echo)(calls, request, response),
    )
    expect(await ask(rpc)).toBe('eth_chainId')
    nodes[0].behave(trouble)
    expect(await errorOf(ask(rpc))).toMatchObject({ code: -32_029, message: 'over the plan' })
    expect(counts(nodes)).toEqual([6])
  })

  it.each([
    ['eth_call', 'none'],
    ['eth_call', null],
    ['eth_estimateGas', {}],
    ['eth_getTransactionReceipt', {}],
    ['eth_getBlockByNumber', 'none'],
    ['eth_getLogs', null],
  ])('that answers %s with %j has not answered', async (method, result) => {
    const { rpc } = await open((calls) => ({ id: calls[0]?.id, result }))
    expect(await errorOf(rpc.request(method, []))).toBeInstanceOf(RpcUnavailableError)
  })

  it.each([
    ['query timeout exceeded', -32_000],
    ['query returned more than 10000 results', -32_005],
    ['Query timeout exceeded. Consider reducing your block range.', -32_000],
    [
      'Log response size exceeded. You can make eth_getLogs requests with up to a 2K range',
      -32_602,
    ],
    ['eth_getLogs is limited to a 10,000 range', -32_614],
    ['exceed maximum block range: 2000', -32_000],
    ['query exceeds max results 20000, retry with the range 1-2', -32_602],
    ['requested too many blocks from 1 to 5000, maximum is set to 2048', -32_000],
    ['backend response too large', -32_020],
    ['Please limit the query to at most 1000 blocks', -32_000],
    ['context deadline exceeded', -32_000],
    ['request timed out', -32_000],
  ])(
    'that says "%s" of a log query is believed, for half of it may be answered',
    async (message, code) => {
      const { rpc, nodes } = await open(failing(code, message), echo)
      const error = await errorOf(rpc.request('eth_getLogs', [{}]))
      expect(error).toBeInstanceOf(RpcResponseError)
      expect(counts(nodes)).toEqual([1, 0])
    },
  )

  it.each([
    ['daily request count exceeded, request rate limited', -32_005],
    ['Too Many Requests', 429],
    ['BlockOutOfRangeError: block height is 5 but requested was 7', -32_602],
    ['block out of range', -32_000],
    ['header not found', -32_000],
    ['project ID request rate exceeded', -32_005],
  ])('that answers "%s" to a log query could not be asked', async (message, code) => {
    const { rpc } = await open(failing(code, message))
    expect(await errorOf(rpc.request('eth_getLogs', [{}]))).toBeInstanceOf(RpcUnavailableError)
  })

  it('never has its address in the text of an error', async () => {
    const gone = await aNode()
    await gone.close()
    const { nodes } = await open(hanging)
    const behaviours = [dropping, hanging, saying('no'), failing(-32_005, `see ${nodes[0].url}`)]
    const errors = [await errorOf(ask(connect([gone.url]), 200))]
    for (const behaviour of behaviours) {
      nodes[0].behave(behaviour)
      errors.push(await errorOf(ask(connect([nodes[0].url]), 200)))
    }
    for (const error of errors) {
      expect(error).toBeInstanceOf(RpcUnavailableError)
      expect(`${error.message} ${error.stack}`).not.toMatch(/https?:|127\.0\.0\.1|secret-key/)
      expect(error.cause).toBeUndefined()
    }
  })
})

describe('several nodes', () => {
  it('are asked in their order, the first as long as it answers', async () => {
    const { rpc, nodes } = await open(echo, echo)
    for (let i = 0; i < 3; i++) await ask(rpc)
    expect(counts(nodes)).toEqual([3, 0])
  })

  it.each([
    ['drops the connection', dropping],
    ['hangs', hanging],
    ['answers no JSON', saying('Bad gateway', 502)],
    ['is rate limited', failing(-32_005, 'slow down')],
  ])('take over from one that %s, and keep being asked for a while', async (_, trouble) => {
    const { rpc, nodes } = await open(trouble, echo)
    expect(await ask(rpc, 300)).toBe('eth_chainId')
    expect(await ask(rpc, 300)).toBe('eth_chainId')
    expect(counts(nodes)).toEqual([1, 2])
  })

  it('are all tried, and again as they failed fast, before the call is given up', async () => {
    const { rpc, nodes } = await open(dropping, saying('no'), failing(429, 'no'))
    expect(await errorOf(ask(rpc))).toBeInstanceOf(RpcUnavailableError)
    expect(counts(nodes)).toEqual([3, 3, 3])
  })

  it('are not asked again for an answer the first one gave', async () => {
    const { rpc, nodes } = await open(failing(-32_000, 'nonce too low'), echo)
    expect(await errorOf(ask(rpc))).toBeInstanceOf(RpcResponseError)
    expect(counts(nodes)).toEqual([1, 0])
  })

  it('are asked in the order that is preferred', async () => {
    const { rpc, nodes } = await open(echo, echo)
    rpc.prefer([1])
    await ask(rpc)
    rpc.prefer([7])
    await ask(rpc)
    expect(counts(nodes)).toEqual([0, 2])
  })

  it('change places when the first is many times slower, and only then', async () => {
    let lateMs = 0
    const late: Behaviour = (calls, request, response) =>
      void setTimeout(() => response.end(JSON.stringify(echo(calls, request, response))), lateMs)
    const { rpc, nodes } = await open(late, echo)
    const asked = () => nodes.map(({ requests }) => requests.length)
    rpc.prefer([0, 1])
    await ask(rpc)
    expect(asked()).toEqual([1, 0])
    lateMs = 800
    for (let i = 0; i < 8 && asked()[1] === 0; i++) {
      await ask(rpc)
      rpc.prefer([0, 1])
    }
    expect(asked()[1]).toBe(1)
  })

  it('are all asked again when none could answer', async () => {
    let isFirst = true
    const flaky: Behaviour = (calls, request, response) => {
      const behaviour = isFirst ? dropping : echo
      isFirst = false
      return behaviour(calls, request, response)
    }
    const { rpc } = await open(flaky, dropping)
    const [answer] = await rpc.everywhere('eth_chainId', [])
    expect(answer).toEqual({ ok: true, value: 'eth_chainId' })
  })

  it('can all be asked, each with an answer of its own', async () => {
    const { rpc, nodes } = await open(echo, failing(-32_000, 'already known'), dropping, hanging)
    const answers = await rpc.everywhere('eth_chainId', [], { timeoutMs: 300 })
    expect(answers[0]).toEqual({ ok: true, value: 'eth_chainId' })
    const errors = answers.slice(1).map((answer) => !answer.ok && answer.error)
    expect(errors[0]).toBeInstanceOf(RpcResponseError)
    expect(errors[1]).toBeInstanceOf(RpcUnavailableError)
    expect(errors[2]).toBeInstanceOf(RpcUnavailableError)
    expect(counts(nodes)).toEqual([1, 1, 1, 1])
  })
})

describe('a batch', () => {
  const calls = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ method: `m${i}`, params: [i] }))

  it('gives each call its own result or error, in the order asked, whatever the order answered', async () => {
    const { rpc, nodes } = await open((calls) =>
      calls
        .map(({ id, method }) =>
          method === 'm1' ? { id, error: { code: 3, message: 'bad one' } } : { id, result: method },
        )
        .reverse(),
    )
    const results = await rpc.batch(calls(3))
    expect(results.map((result) => (result.ok ? result.value : result.error.message))).toEqual([
      'm0',
      'bad one',
      'm2',
    ])
    expect(counts(nodes)).toEqual([1])
  })

  it('with an answer to one call alone says nothing about the others', async () => {
    const { rpc } = await open((calls) =>
      calls.filter(({ method }) => method === 'one').map(({ id }) => ({ id, result: 1 })),
    )
    const two = rpc.batch([
      { method: 'one', params: [] },
      { method: 'two', params: [] },
    ])
    await expect(two).rejects.toBeInstanceOf(RpcUnavailableError)
  })

  it('of which a node refuses some calls each time is asked again for these alone', async () => {
    let asked = 0
    const { rpc, nodes } = await open((calls) =>
      calls.map(({ id, method }) =>
        asked++ % 2 === 0
          ? { id, error: { code: -32_005, message: 'slow' } }
          : { id, result: method },
      ),
    )
    const results = await rpc.batch(calls(16))
    expect(results.map((result) => result.ok && result.value)).toEqual(
      calls(16).map(({ method }) => method),
    )
    expect(nodes[0].requests.map((methods) => methods.length)).toEqual([16, 8, 4, 2, 1, 1])
  })

  it('without calls asks nothing', async () => {
    const { rpc, nodes } = await open(echo)
    expect(await rpc.batch([])).toEqual([])
    expect(counts(nodes)).toEqual([0])
  })

  it('of more than a hundred goes out in parts', async () => {
    const { rpc, nodes } = await open(echo)
    const results = await rpc.batch(calls(205))
    expect(results.map((result) => result.ok && result.value)).toEqual(
      calls(205).map(({ method }) => method),
    )
    expect(nodes[0].requests.map((methods) => methods.length)).toEqual([100, 100, 5])
  })

  it.each<[string, Behaviour]>([
    [
      'leaves a call without an answer',
      (calls) => calls.slice(1).map(({ id }) => ({ id, result: 1 })),
    ],
    [
      'is rate limited in one call',
      (calls) =>
        calls.map(({ id, method }) =>
          method === 'm1' ? { id, error: { code: -32_005, message: 'slow' } } : { id, result: 1 },
        ),
    ],
  ])('is sent to the next node when a node %s', async (_, trouble) => {
    const { rpc, nodes } = await open(trouble, echo)
    const results = await rpc.batch(calls(3))
    expect(results.every(({ ok }) => ok)).toBe(true)
    expect(counts(nodes)).toEqual([1, 1])
  })

  it('that a node refuses as a whole is refused for each call', async () => {
    const { rpc } = await open((calls) =>
      calls.length > 0 ? { id: null, error: { code: -32_600, message: 'no batches' } } : undefined,
    )
    const results = await rpc.batch(calls(2))
    expect(results.map((result) => !result.ok && result.error.message)).toEqual([
      'no batches',
      'no batches',
    ])
  })
})

it('calls the observer for every try', async () => {
  const { nodes } = await open(dropping, echo)
  const seen: unknown[] = []
  const rpc = connect(
    nodes.map(({ url }) => url),
    ({ node, methods, ok, ms }) => {
      seen.push({ node, methods, ok })
      expect(ms).toBeGreaterThan(0)
    },
  )
  await ask(rpc)
  expect(seen).toEqual([
    { node: 0, methods: ['eth_chainId'], ok: false },
    { node: 1, methods: ['eth_chainId'], ok: true },
  ])
})
