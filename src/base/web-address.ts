/** Addresses of servers that a config names. */

/** What is wrong with an address; null if nothing is. `plain`: whether http:// may lead to other machines. */
export function addressFault(given: string, { plain = false } = {}): string | null {
  const address = URL.canParse(given) ? new URL(given) : null;
  const loopback = address !== null && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(address.hostname);
  if (address === null || !(address.protocol === 'https:' || (address.protocol === 'http:' && (plain || loopback)))) {
    return `an address that begins with https://, or with http://${plain ? '' : ' on this machine (localhost)'}`;
  }
  const bare = address.username === '' && address.password === '' && address.search === '' && address.hash === '';
  return bare ? null : 'an address without a name, a password or a query, since addresses are stored with the run';
}
