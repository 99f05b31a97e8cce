import { CopyButton } from './copy-button.js'

/** Code to read and copy; a long one scrolls in itself. */
export function CodeBlock({ code, name }: { code: string; name: string }) {
  return (
    <div className="relative rounded-lg border border-line bg-sunken">
      <div className="absolute top-1.5 right-1.5 rounded-md bg-sunken">
        <CopyButton text={code} name={name} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section aria-label={name} tabIndex={0} className="max-h-96 overflow-auto p-4 pr-10">
        <pre className="font-mono text-xs leading-5">
          <code dir="ltr">{code}</code>
        </pre>
      </section>
    </div>
  )
}
