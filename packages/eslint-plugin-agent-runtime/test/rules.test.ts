import { RuleTester } from 'oxlint/plugins-dev'
import { describe, test } from 'vitest'
import plugin from '../src/index.ts'

RuleTester.describe = describe
RuleTester.it = test

const tester = new RuleTester({ languageOptions: { parserOptions: { lang: 'ts' } } })

/** The body of a handler. */
function handler(body: string): string {
  return `export const task = defineTask({ type: 'a', input }, async (ctx, input) => { ${body} })`
}

function rule(
  name: string,
  valid: readonly string[],
  invalid: readonly (readonly [code: string, message: RegExp])[],
) {
  tester.run(name, plugin.rules[name] as never, {
    valid: [...valid],
    invalid: invalid.map(([code, message]) => ({ code, errors: [{ message }] })),
  })
}

rule(
  'no-nondeterminism',
  [
    'const now = Date.now()',
    handler('return ctx.step("a", () => Date.now())'),
    handler('return ctx.step("a", { retry }, async ({ signal }) => (await fetch(url, { signal })).json())'),
    handler('ctx.onCleanup(() => clearAt(Date.now()))'),
    handler('return new Date(input.at)'),
    handler('return new Date(await ctx.now("at"))'),
    'export async function loose(other, input) { return Math.random() }',
  ],
  [
    [handler('return Date.now()'), /Date\.now\(\) runs again.*await ctx\.now\(KEY\)/],
    [handler('if (Math.random() < 0.5) return 1'), /Math\.random\(\).*await ctx\.random\(KEY\)/],
    [handler('const at = new Date()'), /new Date\(\).*new Date\(await ctx\.now\(KEY\)\)/],
    [handler('return performance.now()'), /performance\.now\(\).*await ctx\.step\(KEY/],
    [handler('await fetch("https://localhost")'), /fetch\(\).*function of a step/],
    [handler('return globalThis.crypto.randomUUID()'), /crypto\.randomUUID\(\).*await ctx\.uuid\(KEY\)/],
    [handler('setTimeout(done, 10)'), /ctx\.sleep/],
    [handler('const later = () => Date.now(); return later()'), /Date\.now/],
    ['async function helper(ctx: TaskContext) { return Date.now() }', /Date\.now/],
    [handler('await ctx.race("r", { a: async (branch) => Date.now() })'), /Date\.now/],
  ],
)

rule(
  'no-floating-step',
  [
    handler('await ctx.step("a", f)'),
    handler('const a = ctx.step("a", f); await a'),
    handler('return ctx.sleep("a", 1)'),
    handler('other.step("a", f)'),
  ],
  [
    [handler('ctx.step("a", f)'), /ctx\.step\(\) is not awaited/],
    [handler('void ctx.sleep("a", 1)'), /ctx\.sleep\(\)/],
    [handler('ctx.now("a")'), /ctx\.now\(\) is not awaited/],
    [handler('ctx.publish("page", input)'), /ctx\.publish\(\) is not awaited/],
    [handler('ctx.receive(["page"])'), /ctx\.receive\(\) is not awaited/],
    [handler('await ctx.all("b", { one: async (branch) => { branch.step("a", f) } })'), /ctx\.step\(\)/],
  ],
)

rule(
  'stable-step-names',
  [handler('await ctx.step(`item ${input.id}`, () => Math.random())')],
  [
    [handler('await ctx.step(`at ${Date.now()}`, f)'), /another key in each replay/],
    [handler('await ctx.sleep(randomUUID(), 1)'), /randomUUID\(\)/],
  ],
)

rule(
  'no-swallowed-errors',
  [
    handler('try { await ctx.step("a", f) } catch (error) { log(error) }'),
    handler('try { await ctx.step("a", f) } catch { throw new Error("a failed") }'),
    handler('try { JSON.parse(input) } catch { return null }'),
  ],
  [
    [handler('try { await ctx.step("a", f) } catch {}'), /swallows.*ctx\.step\(\)/],
    [
      handler('try { return [await ctx.waitForSignal("go")] } catch { return null }'),
      /ctx\.waitForSignal\(\)/,
    ],
  ],
)

rule(
  'no-result-in-handler',
  ['const it = await runtime.result(receipt)', handler('return ctx.call("a", task, input)')],
  [[handler('return runtime.result(receipt)'), /ctx\.call/]],
)
