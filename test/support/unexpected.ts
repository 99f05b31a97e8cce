/** Rejects, because the test expects no such call. */
export async function unexpected(): Promise<never> {
  throw new Error('the test expects no such call')
}
