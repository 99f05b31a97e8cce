import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, superviseChild } from '../../../src/devnet/process.js'
import { until } from './world.js'

/** nginx before both halves, as `docs/operations.md` shows it. */
export interface PathBalancer {
  url: string
  close(): Promise<void>
}

const STOP_GRACE_MS = 2_000

/** Returns the snippet of the page, over plain HTTP and with other servers. */
function writeSnippet(
  port: number,
  { facilitators, directories }: Record<'facilitators' | 'directories', readonly number[]>,
): string {
  const page = fileURLToPath(new URL('../../../docs/operations.md', import.meta.url))
  const [, snippet = ''] = /```nginx\n([\s\S]*?)```/.exec(readFileSync(page, 'utf8')) ?? []
  const [, parameters = ''] = /server \S+:4021([^;]*);/.exec(snippet) ?? []
  const servers = (ports: readonly number[]) =>
    ports.map((it) => `server 127.0.0.1:${it}${parameters};`).join(' ')
  return snippet
    .replace(/(upstream facilitators \{ least_conn;).*\}/, `$1 ${servers(facilitators)} }`)
    .replace(/(upstream directories \{ least_conn;).*\}/, `$1 ${servers(directories)} }`)
    .replace(/listen [^;]*;/, `listen 127.0.0.1:${port};`)
}

export async function startNginx(
  nginx: string,
  ports: Record<'facilitators' | 'directories', readonly number[]>,
): Promise<PathBalancer> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-nginx-'))
  const port = await freePort()
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'daemon off;',
    'pid nginx.pid;',
    'error_log stderr crit;',
    'events { worker_connections 4096; }',
    'http {',
    '  access_log off;',
    ...kinds.map((kind) => `  ${kind}_temp_path ${kind};`),
    writeSnippet(port, ports),
    '}',
    '',
  ]
  const path = join(folder, 'nginx.conf')
  writeFileSync(path, config.join('\n'))
  const args = ['-p', folder, '-c', path, '-e', 'stderr']
  const child = superviseChild(spawn(nginx, args, { stdio: 'inherit' }), STOP_GRACE_MS)
  const url = `http://127.0.0.1:${port}`
  const close = async () => {
    await child.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('nginx answers', async () => (await statusOf(`${url}/metrics`)) === 404)
  } catch (error) {
    await close()
    throw error
  }
  return { url, close }
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url).then(
    ({ status }) => status,
    () => undefined,
  )
}
