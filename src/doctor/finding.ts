/** How one thing stands on which payments depend. */
export interface Finding {
  name: string
  /** `warn`: it works, but not for long or not well. `fail`: payments would not be settled. */
  state: 'ok' | 'warn' | 'fail'
  /** What was found; anybody may read it: no addresses of nodes, no paths, no keys. */
  detail: string
  /** What the operator does about it. */
  mend?: string
}

export function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail }
}

export function warn(name: string, detail: string, mend: string): Finding {
  return { name, state: 'warn', detail, mend }
}

export function fail(name: string, detail: string, mend: string): Finding {
  return { name, state: 'fail', detail, mend }
}
