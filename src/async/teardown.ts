/** The list of everything that was opened and must be closed again, also after a start that failed. */
export interface Teardown {
  add(what: string, close: () => unknown): void
  /** Closes in reverse order. One failure does not keep the others open. */
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
