type RpcRequest = readonly [method: string, params?: readonly unknown[]]

type RpcAnswer = { id: number; result?: unknown; error?: { code: number; message: string } }

// A node that mines a thousand blocks on a busy machine takes its time.
const timeoutMs = 60_000

/** Makes one JSON-RPC call and returns its result. Rejects with the node's message. */
export async function call<T = unknown>(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<T> {
  const [result] = await callBatch(url, [[method, params]])
  return result as T
}

/** Sends several calls as one JSON-RPC batch and returns their results in order. Rejects if one fails. */
export async function callBatch(url: string, requests: readonly RpcRequest[]): Promise<unknown[]> {
  const body = requests.map(([method, params = []], id) => ({ jsonrpc: '2.0', id, method, params }))
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const answers = (await response.json()) as RpcAnswer[]
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  return requests.map(([method], id) => resultOf(method, byId.get(id)))
}

function resultOf(method: string, answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new Error(`${method}: no answer`)
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}
