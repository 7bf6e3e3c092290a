// The reports of this page. Fields that are zero or empty are not in the JSON.
const Data = (() => {
  // By number of TimelineSegment.Kind.
  const KINDS = [null,
    { name: "compute", style: "compute" },
    { name: "DMA read", style: "read" },
    { name: "DMA write", style: "write" },
    { name: "host computes", style: "host" },
    { name: "host moves data", style: "move" },
    { name: "host writes registers", style: "registers" },
    { name: "host polls", style: "poll" }];
  const FIELDS = 6;

  // Segments of one engine by unit.
  function segmentsByUnit(flat) {
    const units = new Map();
    for (let i = 0; i + FIELDS <= flat.length; i += FIELDS) {
      const [unit, gap, length, idle, layer, kind] = flat.slice(i, i + FIELDS);
      if (!units.has(unit)) units.set(unit, []);
      const segments = units.get(unit);
      const last = segments.length ? segments[segments.length - 1].end : 0;
      const begin = last + gap;
      segments.push({ begin, end: begin + length, busy: length - idle, layer,
        kind: KINDS[kind] ? kind : 1 });
    }
    return units;
  }

  // A row of the timeline for each unit that works.
  function tracksOf(report, timeline) {
    const tracks = [];
    (report.engines || []).forEach((engine, index) => {
      for (const [unit, segments] of segmentsByUnit(timeline[index] || [])) {
        const name = (engine.units || [])[unit] || `unit ${unit}`;
        tracks.push({ engine: engine.name || "", host: Boolean(engine.host),
          unit: name, segments });
      }
    });
    return tracks;
  }

  // Style of an engine: "engine0", ...; "host".
  function engineStyles(report) {
    const styles = new Map();
    let engines = 0;
    for (const engine of report.engines || []) {
      styles.set(engine.name, engine.host ? "host" : `engine${engines++ % 4}`);
    }
    return styles;
  }

  function view(entry, index) {
    const report = entry.report;
    const styles = engineStyles(report);
    const title = Format.clean(report.model_name || "model");
    const target = Format.clean(report.target_name || "");
    return { ...entry, index, report, title, target,
      name: target ? `${title} on ${target}` : title,
      layers: report.layers || [],
      totals: report.totals || {},
      tracks: tracksOf(report, entry.timeline || []),
      styleOf: (engine) => styles.get(engine) || "host",
      layerName: (layer) => Format.clean(
        ((report.layers || [])[layer] || {}).id || `layer ${layer}`) };
  }

  function read() {
    const all = JSON.parse(document.getElementById("data").textContent);
    return { views: all.reports.map(view), diffs: all.diffs };
  }

  return { KINDS, read };
})();
