import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { addressProblem } from '../x402/address.js'
import type { Price } from './price.js'
import { createTerms, offeredNow, type Terms } from './terms.js'
import type { RoutePrice, X402Options } from './x402.js'

/** Where the terms of a route are kept: in its own `config`, out of sight. */
const termsKey = Symbol('x402.terms')

type TermsByMethod = ReadonlyMap<string, Terms>
type PricedConfig = { x402?: Price | RoutePrice; [termsKey]?: TermsByMethod }

/** Knows which routes have a price. */
export interface PricedRoutes {
  /** Prices a route as it is declared; whether it has a price. Throws when the price is none. */
  declare(route: RouteOptions): boolean
  /** The terms of a request, `undefined` where nothing is to be paid. */
  find(request: FastifyRequest): Terms | undefined
  /** Whether `declare` saw the route: those declared before the plugin was loaded it did not. */
  isDeclared(request: FastifyRequest): boolean
  /** Throws when a price in the options belongs to no route. */
  checkOptions(): void
}

/** Answers without a body, and questions about a resource, are not sold. */
const freeMethods = ['HEAD', 'OPTIONS']

export function createPricedRoutes(app: FastifyInstance, options: X402Options): PricedRoutes {
  const { payTo } = options
  const problem = payTo === undefined ? undefined : addressProblem(payTo)
  if (problem !== undefined) throw new Error(`x402: payTo ${problem}, got "${payTo}".`)
  const listed = readListed(options.routes ?? {})
  const late = new WeakMap<object, TermsByMethod>()
  for (const [name, price] of listed) {
    const [url = '', method = 'GET'] = name.split(' ').reverse()
    createTerms({ method, url, schema: undefined, sharedSchemas: {} }, price, options)
  }

  function termsOf(route: {
    url: string
    methods: string[]
    config: PricedConfig | undefined
    schema: unknown
  }): TermsByMethod {
    const terms = new Map<string, Terms>()
    for (const method of route.methods.filter((name) => !freeMethods.includes(name))) {
      const price =
        route.config?.x402 ?? listed.get(`${method} ${route.url}`) ?? listed.get(route.url)
      if (price === undefined) continue
      const schema = route.schema as { querystring?: unknown } | undefined
      const sharedSchemas = app.getSchemas()
      terms.set(
        method,
        createTerms({ method, url: route.url, schema, sharedSchemas }, price, options),
      )
    }
    return terms
  }

  function lateTerms(request: FastifyRequest): TermsByMethod {
    const { url = '', method, config, schema } = request.routeOptions
    const known = late.get(config)
    if (known !== undefined) return known
    const terms = termsOf({ url, methods: [method].flat(), config, schema })
    late.set(config, terms)
    return terms
  }

  return {
    declare(route) {
      const { url, method, config, schema } = route
      const terms = termsOf({ url, methods: [method].flat(), config, schema })
      route.config = { ...config, [termsKey]: terms } as typeof config & object
      return terms.size > 0
    },
    find(request) {
      const { [termsKey]: declared } = request.routeOptions.config as PricedConfig
      const terms = (declared ?? lateTerms(request)).get(request.method)
      return terms && offeredNow(terms, options.channels)
    },
    isDeclared: (request) => termsKey in request.routeOptions.config,
    checkOptions() {
      for (const name of listed.keys()) {
        const [url = '', method] = name.split(' ').reverse()
        const methods = method === undefined ? app.supportedMethods : [method]
        if (methods.some((each) => app.hasRoute({ method: each as 'GET', url }))) continue
        throw new Error(`x402: "${name}" in routes is no route; give its whole URL, as declared.`)
      }
    },
  }
}

function readListed(routes: Record<string, Price | RoutePrice>): Map<string, Price | RoutePrice> {
  return new Map(
    Object.entries(routes).map(([name, price]) => {
      const [, method, url] = /^(?:([A-Za-z]+) +)?(\/\S*|\*)$/.exec(name) ?? []
      if (url === undefined) throw new Error(`x402: routes are named "GET /quote", got "${name}".`)
      return [method === undefined ? url : `${method.toUpperCase()} ${url}`, price]
    }),
  )
}
