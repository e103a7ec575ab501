// Rows of tables of times.

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];

/** Prints p50, p90 and p99 of times in milliseconds. */
export function row(name, values) {
  const sorted = values.toSorted((a, b) => a - b);
  const ms = [0.5, 0.9, 0.99].map((q) => `${quantile(sorted, q).toFixed(2)} ms`);
  console.log(`| ${[name, ...ms].join(" | ")} |`);
}
