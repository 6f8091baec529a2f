import { describe, expect, test } from 'vitest'
import { assertStoreUrl, parseStoreUrl } from '../../src/index.ts'

describe('the URL of a store', () => {
  test.each([
    ['sqlite:runtime.db', 'runtime.db'],
    ['sqlite:runtime', 'runtime'],
    ['sqlite:/var/lib/runtime.db', '/var/lib/runtime.db'],
    ['sqlite:///var/lib/runtime.db', '/var/lib/runtime.db'],
    ['sqlite:../x y.db', '../x y.db'],
    ['sqlite::memory:', ':memory:'],
  ])('%s is %s', (url, path) => {
    expect(parseStoreUrl(url)).toBe(path)
  })
})

describe('the forms of other tools', () => {
  test.each([
    ['sqlite://x.db', 'x.db'],
    ['sqlite://data/x.db', 'data/x.db'],
    ['sqlite:////var/x.db', '//var/x.db'],
    ['SQLite:x.db', 'x.db'],
    ['sqlite3:x.db', 'x.db'],
    ['file:x.db', 'x.db'],
    ['file:./dev.db', './dev.db'],
    ['file:a%20b.db', 'a b.db'],
    ['file:100%.db', '100%.db'],
    ['file:///var/x.db', '/var/x.db'],
    ['file:/var/x.db', '/var/x.db'],
    ['file://x.db', 'x.db'],
    ['sqlite:file:x.db', 'x.db'],
    ['./x', './x'],
    ['../x.db', '../x.db'],
    ['/var/x', '/var/x'],
    ['C:\\data\\x.db', 'C:\\data\\x.db'],
    ['x.db', 'x.db'],
    ['my data.sqlite3', 'my data.sqlite3'],
    [':memory:', ':memory:'],
    ['file::memory:', ':memory:'],
    ['sqlite://:memory:', ':memory:'],
    ['sqlite:///:memory:', ':memory:'],
  ])('%s can only mean %s', (url, path) => {
    expect(parseStoreUrl(url)).toBe(path)
  })

  test.each<readonly [unknown, string]>([
    ['runtime', 'did you mean "sqlite:runtime"? '],
    [' sqlite:x.db', 'did you mean "sqlite:x.db"? '],
    ['sqlit:x.db', 'did you mean "sqlite:x.db"? '],
    ['x.db?mode=ro', 'did you mean "sqlite:x.db"? '],
    ['sqlite:x.db?mode=ro', 'did you mean "sqlite:x.db"? '],
    ['sqlite:file:x.db?mode=ro', 'did you mean "sqlite:x.db"? '],
    ['file::memory:?cache=shared', 'did you mean "sqlite::memory:"? '],
    ['sqlite://localhost/var/x.db', 'did you mean "sqlite:/var/x.db"? '],
    ['file://server/share/x.db', 'did you mean "sqlite:/share/x.db"? '],
    ['postgresql://host/db', 'only a SQLite file can be used here, and this names a store on PostgreSQL; '],
    ['postgres://host/db', 'only a SQLite file can be used here, and this names a store on PostgreSQL; '],
    ['mysql:x', 'a store is a SQLite file or a schema of PostgreSQL, and mysql: names neither; '],
    ['', ''],
    ['  ', ''],
    ['sqlite:', ''],
    ['sqlite:\ud800', ''],
    [undefined, ''],
    [Symbol('sqlite:x.db'), ''],
    [['sqlite:x.db'], ''],
  ])('%s is refused, and the error says what to write', (url, hint) => {
    expect(() => parseStoreUrl(url as string)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringContaining(`: ${hint}use sqlite:PATH (for example sqlite:runtime.db`) as string,
      }),
    )
  })

  test.each([
    ['shcema', 'schema'],
    ['Schema', 'schema'],
    ['schemas', 'schema'],
    ['poller', 'pooler'],
    ['aplication_name', 'application_name'],
    ['sslmod', 'sslmode'],
  ])('an option of PostgreSQL that is called %s is refused, and the error names %s', (name, meant) => {
    expect(() => assertStoreUrl(`postgres://app:s3cret@h/work?sslmode=disable&${name}=x`)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringMatching(
          new RegExp(`^(?!.*cret).*: it has no option "${name}", did you mean ${meant}\\?; write postgres:`),
        ) as string,
      }),
    )
  })

  test('an option that is like none of ours is for the driver', () => {
    const query =
      'ssl=0&sslcert=a&sslkey=b&sslcrl=c&host=h&port=1&user=u&password=p&options=o&encoding=e&db=d&role=r&connect_timeout=1&uselibpqcompat=true&statement_timeout=1&keepalives=1&sslnegotiation=direct&target_session_attrs=any&client_encoding=utf8&fallback_application_name=f'
    expect(() => assertStoreUrl(`postgres://h/work?${query}`)).not.toThrow()
  })

  test('a store that no scheme of ours names could be on PostgreSQL, too', () => {
    expect(() => assertStoreUrl('mysql://h/work')).toThrow(/or postgres:\/\/USER:PASSWORD@HOST\/DATABASE$/)
    expect(() => parseStoreUrl('postgres://h/work')).toThrow(/without options\) or sqlite::memory:$/)
  })

  // Errors end up in logs, and the URL of a database often carries its password.
  test.each([
    ['postgres://app:s3cret@db.example/work', '"postgres://app:***@db.example/work"'],
    ['postgresql://app:s3cret/@x@db.example/work', '"postgresql://app:***@db.example/work"'],
    [' postgres://:s3cret@db.example', '" postgres://:***@db.example"'],
    [
      'postgres://db.example/work?user=app&password=s3cret',
      '"postgres://db.example/work?user=app&password=***"',
    ],
    ['postgres://app:s3cret@h/work?PASSWORD=s3@cret&x=1', '"postgres://app:***@h/work?PASSWORD=***&x=1"'],
    ['mysql://app:s3cret@h/work', '"mysql://app:***@h/work"'],
    ['sqlite://app:s3cret@h/work.db', '"sqlite://app:***@h/work.db"'],
  ])('the error about %s hides its password', (url, shown) => {
    expect(() => parseStoreUrl(url)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          new RegExp(`^(?!.*cret).*unknown store ${escaped(shown)}: `),
        ) as string,
      }),
    )
  })

  test.each(['postgres://db.example:5432/work', 'postgres://app@db.example/work'])(
    '%s is shown whole',
    (url) => {
      expect(() => parseStoreUrl(url)).toThrow(`unknown store "${url}"`)
    },
  )
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
