import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './source-files.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const unit = read('deploy/systemd/arcus.service')
const valuesOf = (key: string) =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')

it('the commands of the page put there what the units name', () => {
  const page = read('docs/quickstarts/vps.md').split('\n## Arcus\n')[1]
  const commands = /```sh\n([\s\S]*?)```/.exec(page ?? '')?.[1] ?? ''
  const machine = mkdtempSync(join(tmpdir(), 'machine-'))
  for (const folder of ['opt', 'etc/systemd/system', 'usr/local/bin', 'var/lib', 'arcus/bin']) {
    mkdirSync(join(machine, folder), { recursive: true })
  }
  // A layout of which the command does what `arcus init` does: it writes both files.
  const program = '#!/bin/sh\ntouch .env relayer.keys\n'
  writeFileSync(join(machine, 'arcus/bin/arcus'), program, { mode: 0o755 })
  cpSync(join(root, 'deploy/systemd'), join(machine, 'arcus/systemd'), { recursive: true })
  execFileSync('tar', ['-czf', 'arcus.tar.gz', 'arcus'], { cwd: machine })
  const moved = commands
    .replace(/ \/(opt|etc|usr|var)\b/g, ` ${machine}/$1`)
    .replace('-o arcus -g arcus ', '')
  const script = `useradd() { :; }\nPATH="${machine}/usr/local/bin:$PATH"\n${moved}`
  execFileSync('sh', ['-e', '-c', script], { cwd: machine })

  const command = valuesOf('ExecStart')[0]
    ?.split(' ')
    .find((word) => word.endsWith('/bin/arcus'))
  const keys = valuesOf('LoadCredential')[0]?.split(':')[1]
  const named = [command, keys, valuesOf('EnvironmentFile')[0]]
  expect(named.filter((path) => !existsSync(join(machine, String(path))))).toEqual([])
  expect(readdirSync(join(machine, 'etc/systemd/system')).sort()).toEqual([
    'arcus-backup.service',
    'arcus-backup.timer',
    'arcus.service',
  ])
  rmSync(machine, { recursive: true })
})

it('a system call outside the unit’s list fails, and V8 and the thread of search may make theirs', () => {
  expect(valuesOf('SystemCallErrorNumber')).toEqual(['EPERM'])
  const [allowed, denied] = valuesOf('SystemCallFilter')
  expect(allowed?.split(' ')).toContain('@pkey')
  expect(denied).not.toContain('@resources')
})
