import type { FastifyInstance } from 'fastify'
import type { ComposedDirectory } from './compose-directory.js'
import type { Config } from './config/config.js'
import { toItem } from './discovery/item.js'
import { mcpRoutes } from './mcp/routes.js'
import { createCatalogTools } from './mcp/tools.js'

/** Builds what agents call: the catalog by the Model Context Protocol. */
export function composeMcp(
  { baseUrl, directoryUrl, mcpAllowedOrigins }: Config,
  reads: ComposedDirectory['reads'],
): (app: FastifyInstance) => Promise<void> {
  const tools = createCatalogTools({ ...reads, toItem })
  const allowedOrigins = [...new Set([baseUrl, directoryUrl, ...mcpAllowedOrigins])]
  return (app) => mcpRoutes(app, { tools, allowedOrigins })
}
