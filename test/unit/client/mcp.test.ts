import { McpError, type McpRequest, openConversation } from '@arcus/protocol/x402/mcp'
import { describe, expect, it } from 'vitest'

const greeting = { result: { protocolVersion: '2025-06-18' } }

/** Answers each request by the parts that `write` makes of the message, and keeps how many of them were read. */
async function aConversation(write: (json: string) => string[]) {
  const read: number[] = []
  const asked: McpRequest[] = []
  const session = await openConversation(async (request) => {
    asked.push(request)
    const { id, method } = JSON.parse(request.body)
    if (request.isWhole === undefined) return { status: 202, sessionId: null, body: '' }
    const answer = method === 'initialize' ? greeting : { result: { text: 'é' } }
    const parts = write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    let body = ''
    let count = 0
    for (const part of parts) {
      body += part
      count++
      if (request.isWhole(part)) break
    }
    read.push(count)
    return { status: 200, sessionId: 's-1', body }
  }, 'test')
  return { answer: await session.request('tools/call', {}), read, asked }
}

const later = 'data: {"jsonrpc":"2.0","method":"later"}\n\n'
const [cut, rest] = ['{"jsonrpc":"2.0",', /^\{"jsonrpc":"2\.0",/] as const
const lines = (json: string) => `data: ${cut}\rdata:${json.replace(rest, '')}\r\r`

describe('an answer of an MCP server', () => {
  it.each<[string, (json: string) => string[]]>([
    ['JSON', (json) => [json]],
    ['JSON in parts, after space', (json) => ['\n ', json.slice(0, 9), json.slice(9)]],
    ['a batch', (json) => [`[{"id":77,"result":{}},${json}]`]],
    ['events in single characters', (json) => [...`: hi\nevent: message\ndata: ${json}\n\n`]],
    ['lines that end in CR LF', (json) => [...`data: ${json}\r\n\r\n`]],
    ['data on two lines that end in CR', (json) => [lines(json)]],
    ['CR LF cut in two', (json) => [`data: ${cut}\r`, `\ndata:${json.replace(rest, '')}\r\n\r\n`]],
    ['a last event without its end', (json) => [`id: 1\ndata: ${json}`]],
    ['fields that nobody knows', (json) => [`${'x\n'.repeat(60)}data: ${json}\n\n`]],
  ])('is found in %s', async (_, write) => {
    expect((await aConversation(write)).answer.result).toEqual({ text: 'é' })
  })

  it('is enough, whatever comes after it', async () => {
    const { read, asked } = await aConversation((json) => [later, `data: ${json}\n\n`, later])
    expect(read).toEqual([2, 2])
    expect(asked.map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, 's-1', 's-1'])
  })

  it.each<[string, string[]]>([
    ['HTML', ['<html></html>']],
    ['another answer', ['{"id":77,"result":{}}']],
    ['an answer without a result', ['{"id":1}']],
    ['nothing', []],
  ])('is not %s', async (_, parts) => {
    const conversation = aConversation(() => parts)
    await expect(conversation).rejects.toThrow(/^answered initialize with 200 and no JSON-RPC$/)
    await expect(conversation).rejects.toBeInstanceOf(McpError)
  })

  it('is no longer waited for where lines without end are no events', async () => {
    let count = 0
    const endless = openConversation(async ({ isWhole }) => {
      while (isWhole?.('x\n') === false && count < 10_000) count++
      return { status: 200, sessionId: undefined, body: 'x\n'.repeat(count) }
    }, 'test')
    await expect(endless).rejects.toThrow('no JSON-RPC')
    expect(count).toBeLessThan(100)
  })
})
