/** The state of one part on which payments depend. */
export interface Finding {
  name: string
  /** `warn`: it works, but not for long or not well. `fail`: payments would not be settled. */
  state: 'ok' | 'warn' | 'fail'
  /** The observation. Anybody may read it: no addresses of nodes, no paths, no keys. */
  detail: string
  /** The repair, for the operator. */
  fix?: string
}

export function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail }
}

export function warn(name: string, detail: string, fix: string): Finding {
  return { name, state: 'warn', detail, fix }
}

export function fail(name: string, detail: string, fix: string): Finding {
  return { name, state: 'fail', detail, fix }
}

const marks = { ok: ' ok ', warn: 'warn', fail: 'FAIL' } as const

/** Writes the findings for a terminal: one line each, and the repair below those that need one. */
export function writeReport(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.map(({ name, state, detail, fix }) => {
    const line = `${marks[state]}  ${name.padEnd(width)}  ${detail}`
    return fix === undefined ? line : `${line}\n${' '.repeat(width + 8)}${fix}`
  })
  return [...lines, '', summarize(findings)].join('\n')
}

function summarize(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((it) => it.state === state).length
  const failed = count('fail')
  const verdict = failed === 0 ? 'Payments can be settled' : 'Payments cannot be settled'
  return `${verdict}: ${count('ok')} ok, ${count('warn')} to look at, ${failed} to fix.`
}
