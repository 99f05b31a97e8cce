import type { Routes } from './routes.js'

/**
 * The points that a request takes from the allowance of its caller. A plain request takes one. The parts are added, and the
 * sum is rounded down.
 */
export interface RouteCost {
  /** Points of every request. */
  request: number
  /** Points of each KiB of its body. */
  bodyKiB: number
  /** Points of each claim in its body. */
  row: number
  /** Points of each KiB of its answer, unless the answer was kept from an earlier request. They are added once it is made. */
  answerKiB: number
}

/** The cost of every route that `routeCosts` does not name. */
export const usualCost: RouteCost = { request: 1, bodyKiB: 0.25, row: 0, answerKiB: 0.1 }

const settled = { row: 1 }
/** A sentence may look at everything that is listed. */
const searched = { request: 20 }

/** The routes that cost more than `usualCost`, and in what: a point is about half a millisecond of a processor. */
export const routeCosts: Partial<Record<keyof Routes | 'POST /mcp', Partial<RouteCost>>> = {
  'POST /verify': settled,
  'POST /settle': settled,
  'GET /discovery/search': searched,
  'GET /discovery/resources': { answerKiB: 0.2 },
  'GET /discovery/status': { request: 2 },
  'GET /discovery/changes': { request: 20 },
  'POST /discovery/validate': { request: 5 },
  'GET /api/endpoints': { request: 10 },
  'PUT /api/merchants/{id}': { request: 20 },
  'POST /api/merchants/{id}/probe': { request: 5 },
  'GET /api/merchants/{id}/activity': { request: 20 },
  'GET /api/merchants/{id}/activity/breakdown': { request: 20 },
  'GET /api/merchants/{id}/activity.csv': { request: 100 },
  'GET /api/payments': { request: 20 },
  'GET /api/payments.csv': { request: 200 },
  'POST /mcp': searched,
}

/** Returns the cost of a route, given as `GET /path/{name}`. */
export function costOf(route: string): RouteCost {
  return { ...usualCost, ...routeCosts[route as keyof Routes] }
}

/** Returns the points of a request before it is answered. */
export function pointsOf(
  { request, bodyKiB, row }: RouteCost,
  { bodyBytes = 0, rows = 0 }: { bodyBytes?: number; rows?: number },
): number {
  return Math.floor(request + (bodyKiB * bodyBytes) / 1_024 + row * rows)
}

/** Returns the points of an answer that was made for one request, by its bytes. */
export function pointsOfAnswer({ answerKiB }: RouteCost, bytes: number): number {
  return Math.floor((answerKiB * bytes) / 1_024)
}
