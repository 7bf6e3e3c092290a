// Axes: where a value lies between 0 and 1.

import * as Format from "../shared/format";

type Tick = [number, string];

// Where values lie, and what is written beside the axis.
export interface Scale<T> {
  place: (value: T) => number | undefined;
  ticks: Tick[];
}

// 64, "64KiB", "1.5M" as numbers to compare; NaN for other texts.
const FACTORS: Record<string, number> = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
  Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4 };
export function numberOf(text: Format.Figure) {
  if (typeof text === "number") return text;
  const parts = /^(-?\d+(?:\.\d+)?)\s*([kMGT]i?)?B?$/.exec(text || "");
  return parts ? Number(parts[1]) * FACTORS[parts[2] || ""] : NaN;
}

// Texts in the order of people: numbers by size.
const byValue = (a: string, b: string) => {
  const [x, y] = [numberOf(a), numberOf(b)];
  return !isNaN(x) && !isNaN(y) ? x - y
    : String(a).localeCompare(String(b), "en", { numeric: true });
};

// Each value at the same distance.
export function ofTexts(texts: (string | null)[]): Scale<string | null> {
  const known = texts.filter((text): text is string => text !== null);
  const all = [...new Set(known)].sort(byValue);
  const last = Math.max(1, all.length - 1);
  const placeOf = (i: number) => (all.length === 1 ? 0.5 : i / last);
  const places = new Map<string | null, number>(all.map((text, i) => [text, placeOf(i)]));
  return { place: (text) => places.get(text), ticks: all.map((text, i) => [placeOf(i), text]) };
}

function ticksOf(low: number, high: number, log: boolean, text: (value: number) => string) {
  const ticks: Tick[] = [];
  for (let i = 0; i <= 4; ++i) {
    const part = i / 4;
    const value = log ? low * (high / low) ** part : low + (high - low) * part;
    ticks.push([part, text(Number(value.toPrecision(3)))]);
  }
  return ticks;
}

// Numbers; by their logarithm where the largest is eight times the least.
export function ofNumbers(numbers: (number | null)[],
  text: (value: number) => string): Scale<number | null> {
  const known = numbers.filter(Format.isNumber);
  const low = Math.min(...known);
  const high = Math.max(...known);
  if (known.length === 0) return { place: () => undefined, ticks: [] };
  if (low === high) {
    return { place: (value) => (Format.isNumber(value) ? 0.5 : undefined),
      ticks: [[0.5, text(low)]] };
  }
  const log = low > 0 && high / low >= 8;
  const part = (value: number) => (log ? Math.log(value / low) / Math.log(high / low)
    : (value - low) / (high - low));
  return { place: (value) => (Format.isNumber(value) ? part(value) : undefined),
    ticks: ticksOf(low, high, log, text) };
}
