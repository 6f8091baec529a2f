/** The files of a new project, by path. `version` is that of this program: the packages are released together. */
export function filesOf(name: string, version: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(
      {
        name,
        version: '0.0.0',
        private: true,
        type: 'module',
        scripts: { worker: 'agent-runtime worker', test: 'node --test "test/**/*.test.ts"', types: 'tsc' },
        dependencies: {
          '@ku0/agent-runtime': `^${version}`,
          '@ku0/agent-runtime-cli': `^${version}`,
          zod: '^4.6.0',
        },
        devDependencies: { '@types/node': '^24.0.0', typescript: '^5.9.0' },
        engines: { node: '^22.18.0 || ^24.0.0 || >=26.0.0' },
      },
      null,
      2,
    )}\n`,
    'tsconfig.json': `${JSON.stringify(
      {
        compilerOptions: {
          target: 'es2024',
          lib: ['es2024', 'esnext.disposable'],
          module: 'nodenext',
          types: ['node'],
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          allowImportingTsExtensions: true,
          erasableSyntaxOnly: true,
          verbatimModuleSyntax: true,
        },
        include: ['src', 'test', 'agent-runtime.config.ts'],
      },
      null,
      2,
    )}\n`,
    'agent-runtime.config.ts': `import { defineConfig } from '@ku0/agent-runtime-cli'

export default defineConfig({
  store: 'sqlite:tasks.db',
  tasks: './src/tasks.ts',
})
`,
    'src/tasks.ts': `import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

/** Every task type that this module exports is run by \`agent-runtime worker\`. */
export const greet = defineTask(
  { type: 'greet', input: z.object({ name: z.string() }), output: z.string() },
  async (ctx, { name }) => {
    // A step runs once: after a crash its stored result is returned.
    const greeting = await ctx.step('choose', () => 'Hello')
    return ctx.step('compose', () => \`\${greeting} \${name}\`)
  },
)
`,
    'test/tasks.test.ts': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { greet } from '../src/tasks.ts'

test('greets by name', async () => {
  const runtime = await createTestRuntime({ tasks: [greet] })
  try {
    assert.equal(await runtime.run(greet, { name: 'Ada' }), 'Hello Ada')
  } finally {
    await runtime[Symbol.asyncDispose]()
  }
})
`,
    '.gitignore': `node_modules/
*.db
*.db-*
`,
  }
}
