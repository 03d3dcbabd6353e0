const SECRETS = [
  /\bperch_[A-Za-z0-9_-]{8,}/g,
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{8,}/g,
  /\b(?:Bearer|Basic) +[^\s"',;]+/gi,
];

/** A line of output without what looks like a credential. Bodies and headers are not logged in the first place. */
export function scrubSecrets(text: string): string {
  return SECRETS.reduce((scrubbed, secret) => scrubbed.replace(secret, '[secret]'), text);
}
