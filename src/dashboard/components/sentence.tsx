import { Fragment, type ReactNode } from 'react'

type Gap<Text extends string> = string extends Text
  ? string
  : Text extends `${string}{${infer Name}}${infer Rest}`
    ? Name | Gap<Rest>
    : never

/** Shows a text of the catalog, such as `Changed {when}.`, with an element in each place that it names in braces. */
export function Sentence<const Text extends string>({
  text,
  parts,
}: {
  text: Text
  parts: Record<Gap<Text>, ReactNode>
}) {
  const named: Record<string, ReactNode> = parts
  return text.split(/\{(\w+)\}/).map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
    <Fragment key={index}>{index % 2 === 1 ? named[piece] : piece}</Fragment>
  ))
}
