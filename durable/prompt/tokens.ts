/**
 * An estimate of a text's size in tokens: UTF-8 bytes over four, rounded up. Tokenizers differ by model and weigh
 * hundreds of kilobytes; this one is for comparing parts of a prompt with each other, not for billing.
 */
export function estimateTokens(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return Math.ceil(bytes / 4);
}
