import { createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

/** A certificate with its key, both as PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Signs certificates. Nobody trusts it who is not given its own. */
export class Authority {
  readonly own: Certificate
  private readonly name: string

  constructor(name: string) {
    this.name = name
    this.own = this.signed({ name, isAuthority: true })
  }

  /** Of a server or a client with this name; a server is reached by the names in `hosts`, each a name or an IPv4 address. */
  issue(name: string, hosts: readonly string[] = []): Certificate {
    return this.signed({ name, hosts })
  }

  private signed(it: Subject): Certificate {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signer = it.isAuthority === true ? privateKey : createPrivateKey(this.own.key)
    return {
      cert: certificate(it, this.name, publicKey, signer),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }
  }
}

interface Subject {
  readonly name: string
  readonly hosts?: readonly string[]
  readonly isAuthority?: boolean
}

/** X.509 version 3, valid from 2020 to 2049, signed with ECDSA and SHA-256. Source: RFC 5280, 4.1. */
function certificate(
  { name, hosts = [], isAuthority }: Subject,
  issuer: string,
  key: KeyObject,
  signer: KeyObject,
): string {
  const algorithm = sequence(oid(1, 2, 840, 10_045, 4, 3, 2))
  const extensions = [
    ...(isAuthority === true ? [sequence(oid(2, 5, 29, 19), octets(sequence(tagged(0x01, [0xff]))))] : []),
    ...(hosts.length > 0 ? [sequence(oid(2, 5, 29, 17), octets(sequence(...hosts.map(hostName))))] : []),
  ]
  const body = sequence(
    tagged(0xa0, tagged(0x02, [2])),
    tagged(0x02, [1, ...randomBytes(8)]),
    algorithm,
    commonName(issuer),
    sequence(time('200101000000Z'), time('491231235959Z')),
    commonName(name),
    key.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [tagged(0xa3, sequence(...extensions))] : []),
  )
  const signature = sign('sha256', body, signer)
  const der = sequence(body, algorithm, tagged(0x03, [0, ...signature]))
  const lines = der
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

function hostName(host: string): Buffer {
  return /^[\d.]+$/.test(host) ? tagged(0x87, host.split('.').map(Number)) : tagged(0x82, Buffer.from(host))
}

function commonName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(oid(2, 5, 4, 3), tagged(0x0c, Buffer.from(name)))))
}

function time(text: string): Buffer {
  return tagged(0x17, Buffer.from(text))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function octets(content: Buffer): Buffer {
  return tagged(0x04, content)
}

function oid(first: number, second: number, ...others: readonly number[]): Buffer {
  return tagged(0x06, [first * 40 + second, ...others.flatMap(base128)])
}

function base128(value: number): readonly number[] {
  const low = value & 0x7f
  return value < 0x80 ? [low] : [...base128(value >> 7).map((it) => it | 0x80), low]
}

/** A value with its tag and length. Source: X.690, 8.1. */
function tagged(tag: number, content: readonly number[] | Buffer): Buffer {
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x1_00 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.from([tag, ...size, ...content])
}
