/** A promise that a test settles itself. Node 20 has no `Promise.withResolvers`. */
export function withResolvers<T = void>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
