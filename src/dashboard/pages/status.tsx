export function Status() {
  return null
}
