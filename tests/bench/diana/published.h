#ifndef EK_TESTS_BENCH_DIANA_PUBLISHED_H_
#define EK_TESTS_BENCH_DIANA_PUBLISHED_H_

#include <cstdint>

// What others published about DIANA and the four networks, and what
// edgekiln's own limits are.
namespace edgekiln::bench {

inline constexpr double kCyclesPerMs = 260'000;  // At 260 MHz.

// Van Delm et al., HTVM, Tables I and II, milliseconds at 260 MHz; 0: out of
// memory, or not published.
struct Published {
  const char* name;
  const char* model;  // Of shared models: "htvm_NAME_digital.onnx".
  double cpu_ms;      // TVM.
  double peak_ms;     // Digital: accelerator only.
  double full_ms;     // Digital.
  // Accelerator only and in all; the mixed column in all was back-computed from
  // ratios of the text for two networks, and is not published for the others.
  double analog_peak_ms;
  double analog_ms;
  double mixed_peak_ms;
  double mixed_ms;
  // Table II: STM32L4R5 with TVM, the same with CMSIS-NN, GAP9.
  double stm_tvm_ms;
  double stm_cmsis_ms;
  double gap9_ms;
  // Weights as the digital array has them, in kB of 1000 bytes, and what the
  // binary of Table I has beside them.
  double encoded_kb;
  double code_kb;
  double default_limit;  // Cycles of recipe default, of those of htvm.
};
inline constexpr Published kPublished[] = {
    {"ResNet", "resnet8", 134.11, 0.66, 1.19, 1.52, 1.53, 0.61, 1.12, 180, 180,
     0.88, 79.3, 27.7, 0.50},
    {"DS-CNN", "dscnn", 48.24, 1.70, 1.75, 13.51, 13.51, 1.66, 1.69, 66.6, 46.1,
     0.68, 34.5, 25.5, 0.42},
    {"MobileNet", "mobilenet_v1_0.25_96", 0, 5.42, 5.68, 40.67, 40.67, 5.39, 0,
     155, 139, 1.61, 271.5, 34.5, 0.35},
    {"ToyAdmos", "ad", 4.70, 0.30, 0.36, 0.80, 0.80, 0.49, 0, 5.4, 3.97, 0.256,
     293.1, 22, 0.90},
};

inline constexpr double kColumnLimit = 10;    // % off a digital column ..
inline constexpr double kOtherLimit = 15;     // .. and off the others.
inline constexpr double kLeftOutLimit = 15;   // .. with a network left out.
inline constexpr double kMatchOfHtvm = 0.83;  // MATCH's latency, on average.
inline constexpr double kBinaryCut = 12;      // % of ResNet's binary.

// Fig. 5: % of the throughput of the accelerator alone that transfers and the
// host take, of single layers whose sizes are not published.
inline constexpr double kConvAverageLoss = 15.52;
inline constexpr double kConvBestLoss = 1.32;
inline constexpr double kAnalogAverageLoss = 5.19;
inline constexpr double kAnalogBestLoss = 0.51;
inline constexpr double kDenseFastestLoss = 54.5;
inline constexpr double kDepthwiseMostLoss = 20.7;
inline constexpr double kDepthwiseCeiling = 3.75;  // MAC a cycle.

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_PUBLISHED_H_
