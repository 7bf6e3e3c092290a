#ifndef EK_CLIENT_LSP_TESTING_SAMPLE_H_
#define EK_CLIENT_LSP_TESTING_SAMPLE_H_

namespace edgekiln::client::lsp {

// A descriptor with something of everything; not a chip.
inline constexpr char kSampleTarget[] = R"(# A chip of one's own.
# model: net.tflite
schema_version: 1
name: "npu"  # Its name.
doc: "Two engines, " 'one memory'
parameters {
  name: "pes" doc: "Processing elements" unit: "elements"
  default_value: 64 min: 1 max: 1024 provenance: PUBLISHED
  source: "The paper."
}
parameters { name: "sram_bytes" doc: "SRAM" unit: "bytes" default_value: 4096
  min: 64 max: 65536 provenance: ASSUMED }
constraints { expr: "pes * 16 <= sram_bytes" message: "too small" }
clock_hz_expr: "100000000"
memories {
  name: "sram" holds: [ACTIVATIONS, CONSTANTS] capacity_bytes_expr: "sram_bytes"
  base_address: 0x1000 provenance: ASSUMED
  reached_by: "host" reached_by: "npu"
}
engines {
  name: "npu" model: COARSE_DLA clock_hz_expr: "100000000"
  patterns {
    ops: "conv2d" ops: "add"
    numerics { activations: INT8 per_channel: true accumulator_bits: 32 }
  }
  isa < word_bytes: 4; commands { mnemonic: "MAC" opcode: 1 } >
}
recipes {
  name: "serial" doc: "One after the other."
  tile { engine: "npu" decisions {
    [type.googleapis.com/edgekiln.v1.dla.TileRecipe] { serial: true }
  } provenance: ASSUMED }
}
)";

// Of the built-in target that kSampleExtension extends.
inline constexpr char kSampleExtension[] =
    "extends: \"npu\"\nset { name: \"pes\" value: 96 }\n";

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_TESTING_SAMPLE_H_
