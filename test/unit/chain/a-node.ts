import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Call {
  id: number
  method: string
  params: unknown[]
}

/** Answers a request: returns the whole answer, or writes the raw response itself. */
export type Behaviour = (
  calls: Call[],
  request: IncomingMessage,
  response: ServerResponse,
) => unknown

export interface Node {
  url: string
  /** The methods of each request, in the order they came. */
  requests: string[][]
  behave(behaviour: Behaviour): void
  close(): Promise<void>
}

/** Answers every call with its own method. */
export const echo: Behaviour = (calls) =>
  single(calls.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method })))

/** Answers every call with the same error. */
export function failing(code: number, message: string, data?: unknown): Behaviour {
  return (calls) =>
    single(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code, message, data } })))
}

/** Takes the request and never answers. */
export const hanging: Behaviour = () => undefined

/** Cuts the connection. */
export const dropping: Behaviour = (_calls, request) => void request.socket.destroy()

/** Answers with this text, whatever was asked. */
export function saying(text: string, status = 200): Behaviour {
  return (_calls, _request, response) => void response.writeHead(status).end(text)
}

function single(answers: unknown[]): unknown {
  return answers.length === 1 ? answers[0] : answers
}

/** A JSON-RPC node on a free port of this machine. */
export async function aNode(behaviour: Behaviour = echo): Promise<Node> {
  let behave = behaviour
  const requests: string[][] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const body = JSON.parse(text) as Call | Call[]
    const calls = Array.isArray(body) ? body : [body]
    requests.push(calls.map(({ method }) => method))
    const answer = behave(calls, request, response)
    if (answer !== undefined) response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1/secret-key`,
    requests,
    behave: (next) => {
      behave = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
