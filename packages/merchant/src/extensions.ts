import {
  assertAcceptsAllowlistedAfterExtensionEnrich,
  type HTTPAdapter,
  type HTTPTransportContext,
  type RouteConfig,
  snapshotPaymentRequirementsList,
  type x402ResourceServer,
} from '@x402/core/server'
import type {
  ResourceServerExtension,
  ResourceServerExtensionHooks,
  SettleContext,
} from '@x402/core/types'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { paymentRequired, type RouteTerms } from './terms.js'

/** The answer to a call that an extension does not let through. */
interface ExtensionRefusal {
  /** 403: an extension refused. 502: an extension failed. */
  status: 403 | 502
  body: { error: string; message?: string }
}

/** The code of a call that was not sold because an extension threw. Nothing is charged for it. */
export const EXTENSION_FAILED = 'extension_failed'
export const EXTENSION_FAILED_MESSAGE =
  'An extension of this server failed. Nothing was charged; try again later.'

/**
 * Runs the extensions of a server as the official `x402HTTPResourceServer` runs them, with one difference: where one
 * throws before the payment is settled, the call is refused with 502. One that throws later is logged, and the buyer
 * gets what they paid for.
 */
export class Extensions {
  readonly #extensions: readonly ResourceServerExtension[]
  readonly #log: FastifyBaseLogger

  constructor(extensions: readonly ResourceServerExtension[], log: FastifyBaseLogger) {
    this.#extensions = extensions
    this.#log = log
  }

  /** Has a resource server run the hooks around verify and settle. */
  register(server: x402ResourceServer): void {
    for (const extension of this.#extensions) {
      server.registerExtension(guard(extension, this.#log))
    }
  }

  /**
   * Begins a call of a route that declares extensions. Returns its terms with what they add to the 402; `granted` where one
   * of them lets the call through without a payment.
   */
  async enter(
    request: FastifyRequest,
    terms: RouteTerms,
    url: string,
  ): Promise<RouteTerms | ExtensionRefusal | 'granted'> {
    const { declared } = terms
    if (declared === undefined || this.#extensions.length === 0) return terms
    const transport = transportOf(request, terms, url)
    try {
      const verdict = await this.#ask(declared, transport, terms)
      if (verdict !== undefined) return verdict
      return await this.#describe(declared, transport, terms)
    } catch (err) {
      this.#log.error({ err }, 'x402: an extension failed, so the call is not sold')
      return { status: 502, body: { error: EXTENSION_FAILED, message: EXTENSION_FAILED_MESSAGE } }
    }
  }

  /** Asks each extension whether the call passes as it is, or not at all. */
  async #ask(declared: object, { request }: HTTPTransportContext, terms: RouteTerms) {
    for (const { key, transportHooks } of this.#extensions) {
      const declaration = (declared as Record<string, unknown>)[key]
      if (declaration === undefined) continue
      const config = routeConfigOf(terms)
      const result = await transportHooks?.http?.onProtectedRequest?.(declaration, request, config)
      if (result && 'abort' in result) {
        return { status: 403, body: { error: result.reason } } as const
      }
      // An earlier payment says nothing about a price that each call has anew.
      if (result && 'grantAccess' in result && !isPricedByCall(terms)) return 'granted'
    }
    return undefined
  }

  /** Adds what the extensions say in the 402. A payment is compared with the same terms. */
  async #describe(
    declared: Record<string, unknown>,
    transport: HTTPTransportContext,
    terms: RouteTerms,
  ): Promise<RouteTerms> {
    const accepts = snapshotPaymentRequirementsList([...terms.accepts])
    const extensions: Record<string, unknown> = { ...terms.extensions }
    const url = transport.request.adapter.getUrl()
    const response = { ...paymentRequired(terms, url), accepts, extensions }
    for (const extension of this.#extensions) {
      const { key } = extension
      if (declared[key] === undefined) continue
      const before = snapshotPaymentRequirementsList(accepts)
      const declaration = extension.enrichDeclaration?.(declared[key], transport.request)
      const added = await extension.enrichPaymentRequiredResponse?.(declaration ?? declared[key], {
        requirements: accepts,
        resourceInfo: response.resource,
        paymentRequiredResponse: response,
        transportContext: transport,
      })
      extensions[key] = added ?? declaration ?? declared[key]
      assertAcceptsAllowlistedAfterExtensionEnrich(before, accepts, key)
    }
    return { ...terms, accepts: accepts as unknown as RouteTerms['accepts'], extensions, transport }
  }
}

/** Returns whether one payment says nothing about the price of the next call. */
function isPricedByCall({ isMetered, acceptsOf }: RouteTerms): boolean {
  return isMetered || acceptsOf !== undefined
}

type HookName = keyof ResourceServerExtensionHooks
type ExtensionHook = (declaration: unknown, context: HookContext) => Promise<unknown>
/** The members that the contexts of all hooks have. */
type HookContext = Pick<SettleContext, 'paymentPayload' | 'transportContext'>

/** The hooks that may refuse a payment, so one that throws refuses it. */
const gates: readonly HookName[] = ['onBeforeVerify', 'onAfterVerify', 'onBeforeSettle']
const refused = { abort: true, reason: EXTENSION_FAILED, message: EXTENSION_FAILED_MESSAGE }

/** Returns the extension with hooks that never throw, and that cannot change a settlement. */
function guard(extension: ResourceServerExtension, log: FastifyBaseLogger) {
  const { key } = extension
  const hooks = (extension.hooks ?? {}) as Record<string, ExtensionHook>
  const failed = (name: string, err: unknown) =>
    log.error({ err, extension: key, hook: name }, 'x402: an extension failed')
  const guarded = Object.entries(hooks).map(([name, hook]) => [
    name,
    async (declaration: unknown, context: HookContext) => {
      try {
        return await hook.call(hooks, declaration, { ...context, ...ofPurchase(context) })
      } catch (err) {
        failed(name, err)
        return gates.includes(name as HookName) ? refused : undefined
      }
    },
  ])
  const enrich: ResourceServerExtension['enrichSettlementResponse'] = async (
    declaration,
    context,
  ) => {
    try {
      const result = structuredClone(context.result)
      return await extension.enrichSettlementResponse?.(declaration, { ...context, result })
    } catch (err) {
      failed('enrichSettlementResponse', err)
      return undefined
    }
  }
  return Object.create(extension, {
    hooks: { value: Object.fromEntries(guarded) },
    enrichSettlementResponse: { value: enrich },
  }) as ResourceServerExtension
}

/**
 * Returns the payload with the name of the purchase as its resource. The buyer writes the URL, so they could pay for a
 * cheap route under the URL of a dear one.
 */
function ofPurchase({ paymentPayload, transportContext }: HookContext) {
  const { request } = transportContext as HTTPTransportContext
  const { href: url } = new URL(request.path, request.adapter.getUrl())
  return { paymentPayload: { ...paymentPayload, resource: { ...paymentPayload.resource, url } } }
}

/** Returns the request as the official packages know one. Its `path` names the purchase, by which grants are kept. */
function transportOf(
  request: FastifyRequest,
  terms: RouteTerms,
  url: string,
): HTTPTransportContext {
  const { method, routeOptions } = request
  const [path = '/'] = request.url.split('?', 1)
  // A setting of Fastify lets the query begin at a semicolon.
  const query = request.url.replace(/^[^?;]*/, '')
  const parameters = `${JSON.stringify(request.params ?? {})}${query}`
  const header = (name: string) => {
    const value = request.headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : value
  }
  const adapter: HTTPAdapter = {
    getHeader: header,
    getMethod: () => method,
    getPath: () => path,
    getUrl: () => url,
    getAcceptHeader: () => header('accept') ?? '',
    getUserAgent: () => header('user-agent') ?? '',
    getQueryParams: () => request.query as Record<string, string | string[]>,
    getQueryParam: (name) => (request.query as Record<string, string | string[]>)[name],
    getBody: () => request.body,
  }
  return {
    request: {
      adapter,
      method,
      path: `/${encodeURIComponent(`${terms.route}\n${parameters}`)}`,
      ...(routeOptions.url === undefined ? {} : { routePattern: routeOptions.url }),
    },
  }
}

function routeConfigOf({ accepts, declared, resource }: RouteTerms): RouteConfig {
  return {
    ...resource,
    accepts: accepts.map(({ amount, asset, ...asked }) => ({ ...asked, price: { amount, asset } })),
    ...(declared === undefined ? {} : { extensions: declared }),
  }
}
