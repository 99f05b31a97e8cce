import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { createMcpServer, type McpServerOptions } from './server.js'

/** Answers one message by the official server; each has a server and a transport of its own. */
export async function answerMessage(
  request: Request,
  options: McpServerOptions,
): Promise<Response> {
  const server = createMcpServer(options)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request)
  } finally {
    await server.close()
  }
}
