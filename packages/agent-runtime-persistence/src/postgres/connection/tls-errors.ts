/** What Node.js says of a certificate that it does not accept, and what to do about it. */
const remedies: readonly (readonly [codes: RegExp, remedy: string])[] = [
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'the host of the URL is not among those of the certificate: write a host that the certificate names',
  ],
  [
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|CERT_SIGNATURE_FAILURE)$/,
    "the server's certificate is not trusted: write sslrootcert=FILE into the URL, with the certificate of the authority that signed it",
  ],
  [
    /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/,
    "give the server a certificate that is valid now, or correct this machine's clock",
  ],
  [/^ERR_(?:OSSL|SSL|TLS)/, 'check sslcert, sslkey and sslrootcert in the URL'],
]

/** Why there is no encrypted connection, and what to do about it; undefined where that is not what went wrong. */
export function tlsRemedy(code: string, detail: string): string | undefined {
  if (/does not support SSL/.test(detail))
    return 'set ssl = on in the server, or write sslmode=disable into the URL if nobody else can read the network'
  return remedies.find(([codes]) => codes.test(code))?.[1]
}
