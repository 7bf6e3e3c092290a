// Axes: where a value lies between 0 and 1.
const Scales = (() => {
  // 64, "64KiB", "1.5M" as numbers to compare; NaN for other texts.
  const FACTORS = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
    Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4 };
  function numberOf(text) {
    if (typeof text === "number") return text;
    const parts = /^(-?\d+(?:\.\d+)?)\s*([kMGT]i?)?B?$/.exec(text || "");
    return parts ? Number(parts[1]) * FACTORS[parts[2] || ""] : NaN;
  }

  // Texts in the order of people: numbers by size.
  const byValue = (a, b) => {
    const [x, y] = [numberOf(a), numberOf(b)];
    return !isNaN(x) && !isNaN(y) ? x - y
      : String(a).localeCompare(String(b), "en", { numeric: true });
  };

  // Each value at the same distance.
  function ofTexts(texts) {
    const all = [...new Set(texts.filter((text) => text !== null))].sort(byValue);
    const last = Math.max(1, all.length - 1);
    const places = new Map(all.map((text, i) => [text, all.length === 1 ? 0.5 : i / last]));
    return { place: (text) => places.get(text), ticks: all.map((text) => [places.get(text), text]) };
  }

  function ticksOf(low, high, log, text) {
    const ticks = [];
    for (let i = 0; i <= 4; ++i) {
      const part = i / 4;
      const value = log ? low * (high / low) ** part : low + (high - low) * part;
      ticks.push([part, text(Number(value.toPrecision(3)))]);
    }
    return ticks;
  }

  // Numbers; by their logarithm where the largest is eight times the least.
  function ofNumbers(numbers, text) {
    const known = numbers.filter(Data.isNumber);
    const low = Math.min(...known);
    const high = Math.max(...known);
    if (known.length === 0) return { place: () => undefined, ticks: [] };
    if (low === high) return { place: (value) => (Data.isNumber(value) ? 0.5 : undefined),
      ticks: [[0.5, text(low)]] };
    const log = low > 0 && high / low >= 8;
    const part = log ? (value) => Math.log(value / low) / Math.log(high / low)
      : (value) => (value - low) / (high - low);
    return { place: (value) => (Data.isNumber(value) ? part(value) : undefined), log,
      ticks: ticksOf(low, high, log, text) };
  }

  return { ofTexts, ofNumbers, numberOf, byValue };
})();
