import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as the collector received it. */
export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  links?: { traceId: string; spanId: string }[]
  status: { code?: number }
}

export interface Collector {
  url: string
  spans: ReceivedSpan[]
  /** Attributes of the resource, and headers, of the latest request. */
  resource: Record<string, string>
  headers: Record<string, unknown>
  /** The status that requests are answered with, or `hang` for no answer. */
  answer: number | 'hang'
  requests: number
  stop(): Promise<void>
}

/** Takes traces by OTLP/HTTP in JSON. */
export async function startCollector(port = 0): Promise<Collector> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    collector.requests++
    if (collector.answer === 'hang') return
    if (collector.answer === 200) {
      if (request.url !== '/v1/traces') throw new Error(`unexpected path ${request.url}`)
      collector.headers = request.headers
      for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
        const pairs = resource.attributes.map(
          ({ key, value }: ReceivedSpan['attributes'][number]) => [key, value.stringValue],
        )
        collector.resource = Object.fromEntries(pairs)
        for (const { spans } of scopeSpans) collector.spans.push(...spans)
      }
    }
    response.writeHead(collector.answer, { 'content-type': 'application/json' }).end('{}')
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    resource: {},
    headers: {},
    answer: 200,
    requests: 0,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
  return collector
}

export function attributeOf({ attributes }: ReceivedSpan, key: string) {
  const value = attributes.find((it) => it.key === key)?.value
  return value?.stringValue ?? value?.intValue
}
