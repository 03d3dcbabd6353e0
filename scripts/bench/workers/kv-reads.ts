/** Under this key the KV of the benchmark tells how often it was read. */
export const READS_KEY = 'bench/reads';
