import type { Finding } from './finding.js'

const marks = { ok: ' ok ', warn: 'warn', fail: 'FAIL' } as const

/** The findings for a terminal: one line each, and below what is wrong how to mend it. */
export function writeReport(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.map(({ name, state, detail, mend }) => {
    const line = `${marks[state]}  ${name.padEnd(width)}  ${detail}`
    return mend === undefined ? line : `${line}\n${' '.repeat(width + 8)}${mend}`
  })
  return [...lines, '', summarize(findings)].join('\n')
}

function summarize(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((it) => it.state === state).length
  const failed = count('fail')
  const verdict = failed === 0 ? 'Payments can be settled' : 'Payments cannot be settled'
  return `${verdict}: ${count('ok')} ok, ${count('warn')} to look at, ${failed} to mend.`
}
