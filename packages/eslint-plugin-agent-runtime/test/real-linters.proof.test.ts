import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const plugin = join(root, 'packages/eslint-plugin-agent-runtime/src/index.ts')
const eslint = join(root, 'tools/eslint')
const oxlint = join(root, 'node_modules/.bin/oxlint')
const folder = mkdtempSync(join(tmpdir(), 'ku0-linters-'))

const good = `import { defineTask, type TaskContext } from '@ku0/agent-runtime'
import { z } from 'zod'

async function look(ctx: TaskContext<never>, url: string) {
  return ctx.step(\`look \${url}\`, async ({ signal }) => (await fetch(url, { signal })).text())
}

export const research = defineTask({ type: 'research', input: z.array(z.string()) }, async (ctx, urls) => {
  const startedAt = await ctx.step('start', () => Date.now())
  const pages = await Promise.all(urls.map((url) => look(ctx, url)))
  await ctx.sleep('a while', 1_000)
  try {
    await ctx.step('publish', () => pages.length)
  } catch (error) {
    ctx.log.warn('not published', { error })
    throw error
  }
  return { startedAt, pages }
})
`

/** Each line that a rule refuses ends with its name. */
const bad = `import { defineAgent, defineTask, type TaskContext } from '@ku0/agent-runtime'

async function look(ctx: TaskContext, url: string) {
  return (await fetch(url)).text() // no-nondeterminism
}

export const research = defineTask({ type: 'research', input }, async (ctx, urls) => {
  const startedAt = Date.now() // no-nondeterminism
  if (Math.random() < 0.5) return null // no-nondeterminism
  ctx.step('look', () => look(ctx, urls[0])) // no-floating-step
  await ctx.step(\`look \${crypto.randomUUID()}\`, () => 1) // stable-step-names
  try { // no-swallowed-errors
    await ctx.step('publish', () => 1)
  } catch {
    return null
  }
  return runtime.result(other) // no-result-in-handler
})

export const agent = defineAgent({ name: 'agent', input }, async (ctx) => {
  setTimeout(() => {}, 10) // no-nondeterminism
})
`
const expected = bad.split('\n').flatMap((line, index) => {
  const rule = /\/\/ ([a-z-]+)$/.exec(line)?.[1]
  return rule === undefined ? [] : [`${index + 1} ${rule}`]
})

beforeAll(() => {
  execFileSync('npx', ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile'], { cwd: eslint, stdio: 'pipe' })
  writeFileSync(join(folder, 'good.ts'), good)
  writeFileSync(join(folder, 'bad.ts'), bad)
  writeFileSync(
    join(folder, 'eslint.config.mjs'),
    `import agentRuntime from ${JSON.stringify(plugin)}
import * as parser from ${JSON.stringify(join(eslint, 'node_modules/@typescript-eslint/parser/dist/index.js'))}
export default [{ files: ['**/*.ts'], languageOptions: { parser } }, { files: ['**/*.ts'], ...agentRuntime.configs.recommended }]
`,
  )
  const rules = ['no-floating-step', 'no-nondeterminism', 'no-result-in-handler', 'no-swallowed-errors']
  writeFileSync(
    join(folder, '.oxlintrc.json'),
    JSON.stringify({
      categories: { correctness: 'off' },
      jsPlugins: [{ name: 'agent-runtime', specifier: plugin }],
      rules: Object.fromEntries(
        [...rules, 'stable-step-names'].map((name) => [`agent-runtime/${name}`, 'error']),
      ),
    }),
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The places that a linter reports, as `LINE RULE`. */
const linters = {
  ESLint: (file: string): string[] => {
    const program = join(eslint, 'node_modules/eslint/bin/eslint.js')
    const [result] = JSON.parse(ran(process.execPath, [program, '--format', 'json', file])) as {
      messages: { line: number; ruleId: string }[]
    }[]
    return (result?.messages ?? []).map(({ line, ruleId }) => `${line} ${ruleId.split('/')[1]}`)
  },
  oxlint: (file: string): string[] => {
    const { diagnostics } = JSON.parse(ran(oxlint, ['--format', 'json', file])) as {
      diagnostics: { code: string; labels: { span: { line: number } }[] }[]
    }
    return diagnostics.map(
      ({ code, labels }) => `${labels[0]?.span.line} ${/\((.*)\)/.exec(code)?.[1] ?? code}`,
    )
  },
}

function ran(program: string, args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' })
  if (!stdout.trimStart().startsWith('{') && !stdout.trimStart().startsWith('['))
    throw new Error(`${program} said: ${stdout}\n${stderr}`)
  return stdout
}

describe.each(['ESLint', 'oxlint'] as const)('the plugin in a real %s', (name) => {
  test('reports nothing in a handler that is right', () => {
    expect(linters[name]('good.ts')).toEqual([])
  })

  test('reports each line of a handler that is wrong, by the rule that it breaks', () => {
    expect(linters[name]('bad.ts').toSorted()).toEqual(expected.toSorted())
  })
})
