/** What was opened on the way and must be closed again, also when the way ends early. */
export interface Teardown {
  add(what: string, close: () => unknown): void
  /** Last opened, first closed; one that fails does not keep the others open. */
  run(): Promise<void>
}

export function createTeardown(log: { error(o: object, m: string): void }): Teardown {
  const open: { what: string; close: () => unknown }[] = []
  return {
    add(what, close) {
      open.push({ what, close })
    },
    async run() {
      for (let it = open.pop(); it !== undefined; it = open.pop()) {
        try {
          await it.close()
        } catch (err) {
          log.error({ err, what: it.what }, 'not closed in order')
        }
      }
    },
  }
}
